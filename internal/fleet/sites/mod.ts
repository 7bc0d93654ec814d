export { followSites, type Sites } from "./follow.ts";
export { keepSiteAccounts, systemSitesOf } from "./keep-accounts.ts";
export { addSite, removeSite, type SiteDeps } from "./operations.ts";
export type { SiteRecord } from "./record.ts";
export { problemsOf, type SiteState, type WatchedLinks, watchLinks } from "./watch-links.ts";
