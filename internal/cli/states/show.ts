import { displayPeelId } from "../../base/names/peel-id.ts";
import { atLine } from "../../base/place.ts";
import { type PeelStates, type ShownRun, stateOperations } from "../../fleet/compliance/mod.ts";
import { showStates } from "../../program/answers/mod.ts";
import { command, formatFields, visible } from "../../program/command-line/mod.ts";
import { contentWords } from "../../wire/content-words.ts";
import { readNamedPeel } from "../ids/full-peel-id.ts";
import { withBus } from "../operator.ts";
import { peelArg } from "../peel-args.ts";
import { request } from "../request.ts";
import { checkStale, staleArg } from "./args.ts";

export const showCommand = command({
  name: "show",
  description: "Show what the last state run of a peel did, with the differences that it found.",
  examples: ["svc states show web-1.example.com"],
  args: {
    peel: peelArg,
    stale: staleArg,
  },
  async run({ peel: id, stale: given }, cli) {
    const stale = checkStale(given);
    await withBus(cli, async (bus) => {
      const { peel } = await readNamedPeel(id, bus, cli, (whole) =>
        request(bus, stateOperations.showStates, { id: whole, stale }),
      );
      await cli.print(peel, () => formatStates(peel));
    });
  },
});

function formatStates(peel: PeelStates): string {
  const { peel_id, status, last_run: run } = peel;
  const name = displayPeelId(peel_id);
  if (run === undefined) {
    return formatFields([
      ["Peel", name],
      ["Status", `${status}: it has not reported a state run`],
    ]);
  }
  const shown = showStates(answerOf(peel, run));
  const unnamed = peel.diffs === undefined ? (peel.drift ?? []).map(nameLine) : [];
  const head = formatFields([
    ["Peel", name],
    ["Status", status],
    ["Last run", `${run.run_at}, ${run.trigger}${run.jid === undefined ? "" : ` ${run.jid}`}`],
    ["Files", contentWords(run)],
    ["States", `${shown?.line ?? "-"}${run.test ? ", test" : ""}`],
  ]);
  return [head, ...(shown?.details ?? []), ...unnamed].join("\n");
}

/** The run in the form of what it returned. */
function answerOf({ failures = [], diffs }: PeelStates, run: ShownRun) {
  const { ok, changed, would_change, failed, skipped, duration_ms, test } = run;
  const failing = failures.map(({ id, function: called, file, line, comment }) => ({
    ...{ id: id || "(the run)", function: called || "state", result: false, comment },
    ...(file === "" ? {} : { at: atLine(file, line) }),
  }));
  return {
    // The differences have the states that failed as well, but not why a run did not begin.
    states: diffs === undefined ? failing : [...diffs, ...failing.filter((_, at) => failures[at]?.id === "")],
    summary: { ok, changed: changed + would_change, failed, skipped, duration_ms, test },
  };
}

function nameLine({ id, function: called }: NonNullable<PeelStates["drift"]>[number]): string {
  return visible(`drift: ${called} ${id}`);
}
