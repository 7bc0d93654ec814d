import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { EndedRun } from "../../host/modules/mod.ts";
import { encodeDiffs } from "../../wire/state-diffs.ts";
import { encodeReport } from "../../wire/state-report.ts";
import { type Mask, maskRun } from "../masking/mod.ts";
import { reportOf } from "./report-of.ts";
import type { WaitingReport, WaitingReports } from "./waiting-reports.ts";

/**
 * Keeps the report of each run that ends, without the secrets of the settings. A report that cannot be kept fails no run.
 *
 * @param mask of now
 * @returns what to call with a run before the next one begins
 */
export function reportRuns(
  reports: Pick<WaitingReports, "store">,
  mask: () => Mask,
  log: Log,
): (run: EndedRun) => void {
  return (run) => {
    try {
      // Before anything is cut: a part of a secret would not be found.
      reports.store(waitingOf(maskRun(mask(), run)));
    } catch (thrown) {
      log.error("a state run is not reported to the masters", { reason: describeError(thrown) });
    }
  };
}

function waitingOf(run: EndedRun): WaitingReport {
  const report = reportOf(run);
  return { report: encodeReport(report), ...defined({ diffs: encodeDiffs(report, run.states) }) };
}
