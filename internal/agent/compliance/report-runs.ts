import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { EndedRun } from "../../host/modules/mod.ts";
import { encodeDiffs } from "../../wire/state-diffs.ts";
import { encodeReport } from "../../wire/state-report.ts";
import { reportOf } from "./report-of.ts";
import type { WaitingReport, WaitingReports } from "./waiting-reports.ts";

/**
 * Keeps the report of each run that ends. A report that cannot be kept fails no run.
 *
 * @returns what to call with a run before the next one begins
 */
export function reportRuns(reports: Pick<WaitingReports, "store">, log: Log): (run: EndedRun) => void {
  return (run) => {
    try {
      reports.store(waitingOf(run));
    } catch (thrown) {
      log.error("a state run is not reported to the masters", { reason: describeError(thrown) });
    }
  };
}

function waitingOf(run: EndedRun): WaitingReport {
  const report = reportOf(run);
  return { report: encodeReport(report), ...defined({ diffs: encodeDiffs(report, run.states) }) };
}
