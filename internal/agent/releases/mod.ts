export { mayRelease } from "./judge-release.ts";
export { type OfferedReleases, type OwnReleases, openReleases } from "./open-releases.ts";
export { standingOf } from "./standing.ts";
