import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
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

const schema = v.object({
  v: v.literal(1),
  identity: v.string(),
  nats_urls: v.array(v.string()),
  site_urls: v.optional(v.array(v.string()), []),
});

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
        const cached = v.parse(schema, decode(readFileSync(path)));
        if (cached.identity !== identity) return undefined;
        const urls = checkDiscovered(path, cached.nats_urls);
        ofSite = cached.site_urls.filter((url) => urls?.includes(url));
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
      const more = site.length === 0 ? {} : { site_urls: site };
      try {
        writeFileAtomic(path, encode({ v: 1, identity, nats_urls: urls, ...more }), secretMode);
      } catch (thrown) {
        log.warn("bus URLs not cached", { path, reason: describeError(thrown) });
      }
    },
  };
}
