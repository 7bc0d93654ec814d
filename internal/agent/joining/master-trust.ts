import { existsSync } from "node:fs";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { chooseRung, type Rung, type TrustOptions } from "../../identity/trust/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { IdentityFiles } from "../identity/mod.ts";
import type { Roots } from "../trust/mod.ts";

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
    // A peel that enrolled once never trusts on first use again, whatever it lost.
    hasCredentials: isEnrolled(files),
    mode: config.enroll_trust,
  });
}

/**
 * How a peel judges a master whose root followed its own while it was off, and what an operator does where that is
 * not enough. Only for a peel that is enrolled: the first contact uses only what the operator configured.
 */
export function acrossRotations(
  { config, env }: { config: PeelConfig; env: Readonly<Record<string, string | undefined>> },
  files: IdentityFiles,
  roots: Pick<Roots, "counting" | "kept">,
): Pick<TrustOptions, "followed" | "across"> {
  const busCa = config.bus_ca || env.BUS_CA_FILE || files.busCa;
  const own = config.enroll_ca || (config.enroll_ca_pin.length > 0 ? "" : files.anchor);
  const replaced = [own, busCa].filter((path) => path !== "" && existsSync(path));
  const pin = own === "" ? "set enroll_ca_pin to it" : "";
  const copy = replaced.length > 0 ? `replace ${replaced.join(" and ")} by nats-ca.crt of the fleet` : "";
  const steps = [pin, copy].filter(Boolean).join(", ");
  return {
    followed: roots.counting,
    ...(isEnrolled(files)
      ? { across: { trusted: roots.kept, remedy: `${steps}, and restart this peel` } }
      : {}),
  };
}

function isEnrolled(files: Pick<IdentityFiles, "credentials" | "enrollment">): boolean {
  return existsSync(files.credentials) || existsSync(files.enrollment);
}
