export { certificateMessage } from "./certificate-request.ts";
export { followSites, type Sites } from "./follow.ts";
export { keepSiteAccounts, systemSitesOf } from "./keep-accounts.ts";
export { addSite, removeSite, type SiteDeps } from "./operations.ts";
export { namesOfSite, renewSiteCertificate, type SiteCertificateDeps } from "./renew-certificate.ts";
export { problemsOf, type SiteState, type WatchedLinks, watchLinks } from "./watch-links.ts";
