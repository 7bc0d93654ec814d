import { existsSync } from "node:fs";
import { readTextFile, readTextIfPresent } from "../../base/file.ts";
import { chooseRung, type Rung } from "../../identity/trust/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { IdentityFiles } from "./identity.ts";

/** The configured masters, in the order to try. Empty means the default master. */
export function masterUrls(config: PeelConfig): readonly string[] {
  return config.master_urls.length > 0 ? config.master_urls : [config.master_url].filter(Boolean);
}

/** How this peel verifies a master. @throws SvcError `bad_request` when the file of `enroll_ca` cannot be read */
export function rungOf(config: PeelConfig, files: IdentityFiles): Rung {
  const anchor = readTextIfPresent(files.anchor);
  return chooseRung({
    ...(config.enroll_ca === ""
      ? {}
      : { enrollCa: { path: config.enroll_ca, pem: readTextFile(config.enroll_ca, "enroll_ca") } }),
    pins: config.enroll_ca_pin,
    ...(anchor === undefined ? {} : { anchor: { path: files.anchor, pem: anchor } }),
    hasCredentials: existsSync(files.credentials),
    mode: config.enroll_trust,
  });
}
