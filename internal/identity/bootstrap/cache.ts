import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { record } from "../../base/record.ts";
import { optional } from "../../base/record-kinds.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { checkDiscovered } from "./discover.ts";

/** The bus URLs that a peel learned last. */
export interface BootstrapCache {
  /** `undefined` when the cache is empty, damaged, or belongs to other masters. */
  load(): readonly string[] | undefined;
  /**
   * Stores a validated list. Only logs a failure, because the peel works without the cache.
   *
   * @param ofSite those of the list that belong to the site of the peel
   */
  save(urls: readonly string[], ofSite?: readonly string[]): void;
  /** Of the list that was loaded or saved last, those of the site of the peel. */
  readonly ofSite: readonly string[];
}

const texts = v.pipe(v.array(v.string()), v.readonly());
const stored = record(
  "list of bus URLs",
  { identity: v.string(), urls: ["nats_urls", texts], ofSite: ["site_urls", optional(texts)] },
  { version: 1, isOpen: true },
);

/**
 * The cache of bus URLs in a file (specification, "Bus endpoint discovery precedence"). The file is keyed
 * to the masters and the pins: entries of other masters or pins are ignored.
 */
export function createBootstrapCache(options: {
  path: string;
  masterUrls: readonly string[];
  pins: readonly string[];
  log: Log;
}): BootstrapCache {
  const { path, log } = options;
  const identity = sha256Hex(JSON.stringify([options.masterUrls, [...options.pins].sort()]));
  let ofSite: readonly string[] = [];
  return {
    get ofSite() {
      return ofSite;
    },
    load() {
      try {
        const cached = stored.decode(readFileSync(path));
        if (cached.identity !== identity) return undefined;
        const urls = checkDiscovered(path, cached.urls);
        ofSite = (cached.ofSite ?? []).filter((url) => urls?.includes(url));
        return urls;
      } catch (thrown) {
        if (!isErrno(thrown, "ENOENT")) {
          log.warn("cached bus URLs not used", { path, reason: describeError(thrown) });
        }
        return undefined;
      }
    },
    save(urls, site = []) {
      ofSite = site;
      const more = site.length === 0 ? {} : { ofSite: site };
      try {
        writeFileAtomic(path, stored.encode({ identity, urls, ...more }), secretMode);
      } catch (thrown) {
        log.warn("bus URLs not cached", { path, reason: describeError(thrown) });
      }
    },
  };
}
