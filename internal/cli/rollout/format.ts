import { displayPeelId } from "../../base/names/peel-id.ts";
import type { RolloutView, WaveView } from "../../fleet/rollout/mod.ts";
import {
  type Cli,
  Exit,
  formatFields,
  formatTable,
  type TableStyle,
} from "../../program/command-line/mod.ts";
import { contentWords, releasedWords } from "../../wire/content-words.ts";
import { countWords, peelCount } from "../job/counts.ts";

/** Peels of a wave that stand on its line. */
const peelsShown = 6;

/** Prints a rollout and its waves. */
export function printRollout(view: RolloutView, cli: Cli): Promise<void> {
  return cli.print(view, () => `${formatFields(fieldsOf(view))}\n\n${formatWaves(view.waves, cli)}`);
}

/**
 * Prints how a rollout ended.
 *
 * @throws Exit 1 when it was not completed
 */
export async function printRolloutEnd(view: RolloutView, cli: Cli): Promise<void> {
  await cli.print(view, () => formatWaves(view.waves, cli));
  const ended = view.reason === undefined ? view.status : `${view.status}: ${view.reason}`;
  cli.say(`${view.id} ${ended}; ${peelCount(view.failures)} of ${view.targets} failed`);
  if (view.status !== "completed") throw new Exit(1);
}

/** Waves, one a line: who is in each, and what came of it. */
export function formatWaves(waves: readonly WaveView[], style: TableStyle): string {
  return formatTable(
    { WAVE: "word", PEELS: "spare word", WHO: "prose", JOB: "spare id", OUTCOME: "states", CHECK: "states" },
    waves.map((wave, i) => [
      `${i + 1}/${waves.length}`,
      String(wave.peels.length),
      whoOf(wave.peels),
      wave.jid ?? "-",
      outcomeOf(wave),
      checkOf(wave),
    ]),
    style,
  );
}

function whoOf(peels: readonly string[]): string {
  const shown = peels.slice(0, peelsShown).map(displayPeelId).join(", ");
  return peels.length <= peelsShown ? shown : `${shown} and ${peels.length - peelsShown} more`;
}

function outcomeOf({ jid, counts, gone = 0 }: WaveView): string {
  if (jid === undefined) return "-";
  if (counts === undefined) return "running";
  return [...countWords(counts), ...(gone === 0 ? [] : [`${gone} left the fleet`])].join(", ") || "none";
}

function checkOf({ check_jid: jid, check_counts: counts }: WaveView): string {
  if (jid === undefined) return "-";
  return counts === undefined ? "running" : countWords(counts).join(", ");
}

function fieldsOf(view: RolloutView): [string, string][] {
  const { check } = view;
  const args = Object.entries(view.args).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const isLive = view.finished_at === undefined;
  const because = view.paused_because === undefined ? "" : `: ${view.paused_because}`;
  const paused = view.paused_by === undefined ? because : ` by ${view.paused_by}`;
  const ending =
    view.abort_asked_by === undefined ? "" : `, to be aborted: ${view.abort_asked_by} asked for it`;
  const optional = (name: string, value: string | undefined): [string, string][] =>
    value === undefined ? [] : [[name, value]];
  return [
    ["id", view.id],
    ["function", [view.function, ...args].join(" ")],
    ...optional("files", view.content && contentWords(view.content)),
    ...optional("released", view.released && releasedWords(view.released)),
    ...optional("target", view.target),
    ["status", `${view.status}${paused}${ending}`],
    ...optional("reason", view.reason),
    ["wave", `${view.wave} of ${view.waves.length}${isLive ? `, ${view.step}` : ""}`],
    ...optional("waits for", view.waits_for),
    ["failures", `${view.failures}, at most ${view.max_failures}`],
    ["timeout", view.timeout],
    ["wave wait", view.wave_wait],
    ...optional("check", check === undefined ? undefined : check.function),
    ["deadline", view.deadline],
    ...optional("driver", isLive ? (view.driver ?? "none") : undefined),
    ...optional("token", isLive ? `${view.token}` : undefined),
    ...optional("heartbeat", isLive ? view.heartbeat_at : undefined),
    ["created", `${view.created_at} by ${view.created_by}`],
    ...optional("approved by", view.approved_by?.join(", ")),
    ...optional("finished", view.finished_at),
    ...optional("never made", view.forbidden.length === 0 ? undefined : view.forbidden.join(", ")),
  ];
}
