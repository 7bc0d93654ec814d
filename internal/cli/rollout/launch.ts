import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  parseSize,
  type RolloutRequest,
  type RolloutView,
  rolloutOperations,
} from "../../fleet/rollout/mod.ts";
import { filesOfCall, readCall } from "../../host/modules/mod.ts";
import { type Cli, readFlag, readListFlag } from "../../program/command-line/mod.ts";
import { contentWords, releasedWords } from "../../wire/content-words.ts";
import { peelCount } from "../job/counts.ts";
import { requestFrozen } from "../job/frozen.ts";
import { untilInterrupted } from "../job/interrupt.ts";
import { printNobody, withNearestPeel } from "../nobody.ts";
import { request } from "../request.ts";
import { type Question, sayWhether } from "../roles/may-do.ts";
import { watchRollout } from "./follow.ts";
import { formatWaves } from "./format.ts";

/** Peels of the first wave that are named when they are not connected. */
const awayShown = 3;

/** Whether a rollout is only planned, or started and left alone, or followed to its end. */
export type LaunchMode = "dry-run" | "async" | "follow";

/** The command-line arguments that start a rollout: `planArgs`, and the timeout. */
export interface PlanWords {
  canary: string;
  waves: string;
  "wave-wait": string;
  "max-failures": string;
  check?: string | undefined;
  timeout: string;
  deadline: string;
  async?: boolean | undefined;
  "dry-run"?: boolean | undefined;
  yes?: boolean | undefined;
}

/** @throws SvcError `usage` */
export function readMode(words: Pick<PlanWords, "async" | "dry-run">): LaunchMode {
  const isDry = words["dry-run"] === true;
  if (isDry && words.async === true) throw new SvcError("usage", "give --async or --dry-run, not both");
  return isDry ? "dry-run" : words.async === true ? "async" : "follow";
}

/**
 * The plan as the masters take it. They read it again; this check only reports mistakes early.
 *
 * @throws SvcError `usage` naming the option
 */
export function readPlan(words: PlanWords): Partial<RolloutRequest> {
  const { check } = words;
  return {
    canary: readSize("--canary", words.canary),
    waves: readListFlag("--waves", words.waves, checkedSize),
    wave_wait: readDuration("--wave-wait", words["wave-wait"]),
    max_failures: readSize("--max-failures", words["max-failures"]),
    timeout: readDuration("--timeout", words.timeout),
    deadline: readDuration("--deadline", words.deadline),
    ...(check === undefined ? {} : { check: readCheck(check) }),
  };
}

/**
 * Plans or starts a rollout, prints it, and follows it if requested.
 *
 * @param onPlan called with the encoded ids of the peels of a plan that is only shown
 * @returns how it ended; `undefined` when it was not followed, and all is said and printed
 * @throws SvcError what a master answered, `unavailable` when none did
 * @throws Exit 130 after Ctrl-C
 */
export async function launchRollout(
  bus: Bus,
  wanted: RolloutRequest,
  mode: LaunchMode,
  cli: Cli,
  onPlan?: (peels: readonly string[]) => Promise<void>,
): Promise<RolloutView | undefined> {
  const requested = mode === "dry-run" ? { ...wanted, dry_run: true } : wanted;
  const question = questionOf(requested);
  const send = (frozen: RolloutRequest) => request(bus, rolloutOperations.startRollout, frozen);
  const started =
    mode === "dry-run"
      ? withNearestPeel(bus, requested.target, () => send(requested))
      : requestFrozen(bus, requested, question, send);
  const { id, waves, max_failures, not_connected, content, released } = await printNobody(cli, () => started);
  const files = [
    content === undefined ? "" : `\nfiles of ${contentWords(content)}`,
    released === undefined ? "" : `\nfiles ${releasedWords(released)}`,
  ].join("");
  const peels = waves.reduce((sum, wave) => sum + wave.peels.length, 0);
  const inWaves = waves.length === 1 ? "in one wave" : `in ${waves.length} waves`;
  const size = `${peelCount(peels)} ${inWaves}, at most ${max_failures} may fail`;
  if (id === undefined) {
    await cli.print({ waves, max_failures, ...defined({ not_connected, content, released }) }, () =>
      formatWaves(waves, cli),
    );
    cli.say(`${size}; nothing was started${files}`);
    sayAway(not_connected, cli);
    await sayWhether(bus, { ...question, ...defined({ target: wanted.target }) }, cli);
    await onPlan?.(waves.flatMap((wave) => wave.peels));
    return undefined;
  }
  if (mode === "async") {
    await cli.print({ id, waves, max_failures, ...defined({ not_connected, content, released }) }, () => id);
    cli.say(`${size}; watch with svc rollout watch ${id}${files}`);
    sayAway(not_connected, cli);
    return undefined;
  }
  cli.say(`${id}: ${size}${files}`);
  cli.say(formatWaves(waves, { color: false }));
  sayAway(not_connected, cli);
  return untilInterrupted(cli, (signal) => watchRollout(bus, id, cli, signal));
}

/** Names the peels that keep the first wave waiting. */
function sayAway(peels: readonly string[] = [], cli: Cli): void {
  if (peels.length === 0) return;
  const shown = peels.slice(0, awayShown).map(displayPeelId);
  const more = peels.length > awayShown ? ` and ${peels.length - awayShown} more` : "";
  const [first = ""] = shown;
  const are = peels.length === 1 ? "is" : "are";
  cli.say(
    `the first wave waits until its timeout: ${shown.join(", ")}${more} ${are} not connected, see svc doctor ${first}`,
  );
}

/** What a role must allow for it. */
function questionOf({ function: name, args = {}, check }: RolloutRequest): Question {
  const files =
    filesOfCall(name, args) ?? (check === undefined ? {} : filesOfCall(check.function, check.args ?? {}));
  return {
    ...{ kind: "rollouts", action: "start", function: name, ...files },
    ...(check === undefined ? {} : { check: { function: check.function } }),
  };
}

/** `service.status name=nginx` as a call, checked before anything is sent. */
function readCheck(text: string): { function: string; args: Record<string, Plain> } {
  const [name = "", ...words] = text.trim().split(/\s+/);
  return readFlag("--check", text, () => readCall(name, { words, literal: [] }));
}

function readSize(flag: string, text: string): string {
  return readFlag(flag, text, checkedSize);
}

function checkedSize(text: string): string {
  parseSize(text);
  return text;
}

function readDuration(flag: string, text: string): string {
  readFlag(flag, text, parseDuration);
  return text;
}
