import { SvcError } from "../../base/errors.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import type { JoinToken } from "../../identity/join-token/mod.ts";

/** What this host knows of a fleet already. */
export interface KnownFleet {
  /** The configuration file, for messages. */
  configFile: string;
  /** The directory of its identity, for messages. */
  authDir: string;
  /** Base URLs of masters in the configuration. */
  urls: readonly string[];
  /** `bus_url` of the configuration; empty when the peel finds the bus by itself. */
  busUrl: string;
  /** Pins in the configuration, or those of the file of `enroll_ca`; `undefined` when it names none. */
  pins: readonly string[] | undefined;
  /** Pins of the roots in the anchor; `undefined` without one. */
  anchored: readonly string[] | undefined;
}

/**
 * What a token adds to the configuration of this host.
 *
 * @returns YAML to append; empty when the configuration is complete
 * @throws SvcError `conflict` when this host belongs to another fleet
 */
export function planJoin(known: KnownFleet, token: Pick<JoinToken, "urls" | "pins" | "busUrl">): string {
  const { configFile, authDir, urls, busUrl, pins, anchored } = known;
  const other = (where: string): SvcError =>
    new SvcError(
      "conflict",
      `this host belongs to another fleet than the join token: ${where}; to move it, run svc enroll revoke in that fleet, stop svc-peel, remove ${authDir} and the lines master_url, master_urls and enroll_ca_pin of ${configFile}, and run this command again`,
    );
  const shares = (some: readonly string[]) => token.pins.some((pin) => some.includes(pin));
  if (pins !== undefined && !shares(pins)) throw other(`${configFile} has the pin ${pins.join(", ")}`);
  if (anchored !== undefined && !shares(anchored)) {
    throw other(`${authDir} has the root ${anchored.join(", ")}`);
  }
  const isSameFleet = pins !== undefined || anchored !== undefined;
  if (urls.length > 0 && !isSameFleet && !token.urls.some((url) => urls.includes(url))) {
    throw other(`${configFile} has the masters ${urls.join(", ")}`);
  }
  const added = [
    ...(urls.length > 0 ? [] : [formatYaml({ master_urls: [...token.urls] })]),
    ...(pins !== undefined || token.pins.length === 0
      ? []
      : [formatYaml({ enroll_ca_pin: [...token.pins] })]),
    // Without a pin the host's trust store decides, and nothing is trusted on first use.
    ...(pins !== undefined || token.pins.length > 0 ? [] : [formatYaml({ enroll_trust: "strict" })]),
    // Masters that advertise no bus leave a peel with tls://bus:4222, which few networks have.
    ...(busUrl !== "" || token.busUrl === undefined ? [] : [formatYaml({ bus_url: token.busUrl })]),
  ];
  return added.join("");
}
