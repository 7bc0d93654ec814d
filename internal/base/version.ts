import manifest from "../../package.json" with { type: "json" };

/** The version of the release this code belongs to. */
export const version: string = manifest.version;
