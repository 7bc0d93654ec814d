export { namesOfSite } from "./certificate-operation.ts";
export { certificateMessage } from "./certificate-request.ts";
export { followSites, type Sites } from "./follow.ts";
export { siteOperations } from "./joined.ts";
export { judgeOrigins, type OriginJudge } from "./judge-origin.ts";
export { maintainSiteAccounts, systemSitesOf } from "./maintain-accounts.ts";
export type { SiteCertificateDeps } from "./operations.ts";
export { problemsOf, type SiteState, type WatchedLinks, watchLinks } from "./watch-links.ts";
