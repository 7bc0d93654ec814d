import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { decodeCertificate, type SiteCertificate, siteOfCertificateKey } from "./certificate-record.ts";
import { decodeSite, type SiteRecord } from "./record.ts";

/** The sites of the fleet, in memory, kept current by one watch. */
export interface Sites {
  /** All that were ever added, by name; also those that were removed. */
  all(): readonly SiteRecord[];
  /** Those that are there now, by name. */
  open(): readonly SiteRecord[];
  /** The last certificate that masters issued for a site that is there; `undefined` where they issued none. */
  certificateOf(name: string): SiteCertificate | undefined;
  /** Resolves when the sites that were there at the start are known. */
  readonly ready: Promise<void>;
  /** @throws SvcError `unavailable` or `storage` */
  caughtUp(): Promise<void>;
  /** Calls `run` after each change. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
  stop(): void;
}

/** Follows the bucket of sites. A record that no master vouches for is ignored, and logged. */
export function followSites(options: { bucket: Pick<Bucket, "watch">; mac: RecordMac; log: Log }): Sites {
  const { bucket, mac, log } = options;
  const known = new Map<string, { site: SiteRecord; revision: number }>();
  const certificates = new Map<string, { certificate: SiteCertificate; revision: number }>();
  const listeners = new Set<() => void>();
  const read = <T>(
    decode: (mac: RecordMac, name: string, value: Uint8Array) => T | undefined,
    name: string,
    value: Uint8Array,
  ): T | undefined => {
    try {
      const found = decode(mac, name, value);
      if (found === undefined) log.error("a stored site was changed by others", { site: name });
      return found;
    } catch (thrown) {
      log.error("a stored site cannot be read", { site: name, reason: describeError(thrown) });
      return undefined;
    }
  };
  const watch = bucket.watch(({ key, value, revision }) => {
    if (value === undefined) return;
    const certified = siteOfCertificateKey(key);
    if (certified !== undefined) {
      if ((certificates.get(certified)?.revision ?? 0) >= revision) return;
      const certificate = read(decodeCertificate, certified, value);
      if (certificate !== undefined) certificates.set(certified, { certificate, revision });
      return;
    }
    if ((known.get(key)?.revision ?? 0) >= revision) return;
    const site = read(decodeSite, key, value);
    if (site === undefined) return;
    const before = known.get(key)?.site;
    // An attacker who controls the bus can put an earlier revision back.
    if (before?.removedAt !== undefined && before.account === site.account && site.removedAt === undefined) {
      log.error("a site that was removed is stored again: it stays removed", { site: key });
      return;
    }
    known.set(key, { site, revision });
    for (const run of [...listeners]) run();
  });
  const all = () =>
    [...known.values()].map(({ site }) => site).sort((one, other) => (one.name < other.name ? -1 : 1));
  return {
    all,
    open: () => all().filter(({ removedAt }) => removedAt === undefined),
    certificateOf(name) {
      const certificate = certificates.get(name)?.certificate;
      return certificate?.account === known.get(name)?.site.account ? certificate : undefined;
    },
    ready: watch.ready,
    caughtUp: watch.caughtUp,
    onChange: (run) => subscribe(listeners, run),
    stop: watch.stop,
  };
}
