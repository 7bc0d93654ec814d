import { rfc3339 } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import type { EndedRun, EndedState } from "../../host/modules/mod.ts";
import { maxLength, maxNamed, type Report } from "../../wire/state-report.ts";

type Failure = Report["failures"][number];

/**
 * What a peel reports of a run. A run that was stopped, or whose files cannot be compiled, has one failure more, with
 * the id `""`: the host is not as described.
 */
export function reportOf(run: EndedRun): Report {
  const { states, test, origin = { trigger: "call" } } = run;
  const failed = states.filter(({ result }) => result === false);
  const others = states.filter(({ result }) => result !== false);
  const skipped = others.filter((state) => state.skipped !== undefined);
  const drifted = others.filter((state) => state.skipped === undefined && isDrift(state));
  const ended = endFailures(run);
  const isWish = ({ result }: EndedState) => test || result === null;
  return {
    run_at: rfc3339(run.startedAt),
    trigger: origin.trigger,
    ...defined({ jid: origin.jid }),
    environment: run.environment.slice(0, maxLength.environment),
    commit: run.commit ?? "",
    ...defined({ snapshot: run.snapshot }),
    test,
    ok: others.length - skipped.length - drifted.length,
    changed: drifted.filter((state) => !isWish(state)).length,
    failed: failed.length + (ended.length === 0 ? 0 : 1),
    skipped: skipped.length,
    would_change: drifted.filter(isWish).length,
    duration_ms: Math.max(0, Math.round(run.duration_ms)),
    failures: [...failed.map(failureOf), ...ended].slice(0, maxNamed.failures),
    drift: drifted.slice(0, maxNamed.drift).map(nameOf),
  };
}

const isDrift = ({ result, changes }: EndedState) => result === null || Object.keys(changes).length > 0;

function nameOf({ id, function: called }: Pick<EndedState, "id" | "function">) {
  return { id: id.slice(0, maxLength.id), function: called.slice(0, maxLength.function) };
}

function failureOf({ file, line, comment, ...state }: EndedState): Failure {
  return { ...nameOf(state), ...placeOf(file, line), comment: beginningOf(comment, maxLength.comment) };
}

/** Why a run did not get to its end. */
function endFailures({ stopped, not_run, states, problems = [] }: EndedRun): Failure[] {
  if (problems.length > 0) {
    return problems.map(({ file = "", line = 0, message }) => ({
      ...{ id: "", function: "" },
      ...placeOf(file, line),
      comment: beginningOf(message, maxLength.comment),
    }));
  }
  if (stopped !== "cancelled") return [];
  const comment = `stopped after ${states.length} of ${states.length + not_run} states`;
  return [{ id: "", function: "", ...placeOf("", 0), comment }];
}

function placeOf(file: string, line: number): Pick<Failure, "file" | "line"> {
  return { file: file.slice(0, maxLength.file), line: Math.max(0, Math.floor(line)) };
}
