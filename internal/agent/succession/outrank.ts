import type { Log } from "../../base/log.ts";
import type { SignedSuccession } from "../../identity/succession/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** How a peel finds and verifies its fleet. */
export interface Ways {
  config: PeelConfig;
  env: Env;
}

/**
 * The configuration as it applies after a succession. What it says of the fleet before is void: its CA is in the
 * hands of a thief.
 */
export function outrank({ config, env }: Ways, statement: SignedSuccession | undefined): Ways {
  if (statement === undefined) return { config, env };
  const { BUS_CA_FILE: _, ...kept } = env;
  return {
    config: {
      ...config,
      bus_url: "",
      bus_ca: "",
      master_url: "",
      master_urls: statement.master_urls.map((url) => url.replace(/\/$/, "")),
      enroll_ca: "",
      // The anchor verifies: it follows when that fleet changes its root.
      enroll_ca_pin: [],
    },
    env: kept,
  };
}

/** Names the options that an accepted statement outranks and that differ from it, once, at the start. */
export function warnOfOutranked({ config, env }: Ways, statement: SignedSuccession, log: Log): void {
  const { master_urls: masters, bus_urls: buses, fingerprint, serial } = statement;
  const differs: Record<string, boolean> = {
    bus_url: config.bus_url !== "" && !buses.includes(config.bus_url),
    bus_ca: config.bus_ca !== "",
    BUS_CA_FILE: Boolean(env.BUS_CA_FILE),
    master_url: config.master_url !== "" && !masters.includes(config.master_url),
    master_urls: config.master_urls.some((url) => !masters.includes(url)),
    enroll_ca: config.enroll_ca !== "",
    enroll_ca_pin: config.enroll_ca_pin.length > 0 && !config.enroll_ca_pin.includes(fingerprint),
  };
  const options = Object.keys(differs).filter((name) => differs[name]);
  if (options.length === 0) return;
  log.warn("options of the configuration are not used: a succession outranks them", {
    options,
    serial,
    next: `change them: the masters are ${masters.join(", ")}, and the pin is ${fingerprint}`,
  });
}
