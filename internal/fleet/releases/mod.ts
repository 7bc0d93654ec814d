export { boundReport, type FilesReport, filesReport, firstFindings } from "./files-report.ts";
export { releaseOperations } from "./joined.ts";
export { createReleaseJudge } from "./judge.ts";
export type { PublishersReport } from "./list-files.ts";
export { type MeantFiles, meantFiles, type RequestForFiles } from "./meant-files.ts";
export { type ReleaseStanding, releaseStandings } from "./standing.ts";
export { noteTaken } from "./store.ts";
export { followReleases, type Releases } from "./view.ts";
