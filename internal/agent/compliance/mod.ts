export { reportRuns } from "./report-runs.ts";
export { reportSubjects, sendReports } from "./send-reports.ts";
export { openWaitingReports, reportsDirectory } from "./waiting-reports.ts";
