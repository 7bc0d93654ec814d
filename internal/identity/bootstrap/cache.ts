import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/file.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { checkDiscovered } from "./discover.ts";

/** The bus URLs that a peel learned last. */
export interface BootstrapCache {
  /** `undefined` when the cache is empty, damaged, or belongs to other masters. */
  load(): readonly string[] | undefined;
  /** Stores a validated list. Only logs a failure, because the peel works without the cache. */
  save(urls: readonly string[]): void;
}

const schema = v.object({ v: v.literal(1), identity: v.string(), nats_urls: v.array(v.string()) });

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
  return {
    load() {
      try {
        const cached = v.parse(schema, decode(readFileSync(path)));
        return cached.identity === identity ? checkDiscovered(path, cached.nats_urls) : undefined;
      } catch (thrown) {
        if (!isErrno(thrown, "ENOENT")) {
          log.warn("cached bus URLs not used", { path, reason: describeError(thrown) });
        }
        return undefined;
      }
    },
    save(urls) {
      try {
        writeFileAtomic(path, encode({ v: 1, identity, nats_urls: urls }), secretMode);
      } catch (thrown) {
        log.warn("bus URLs not cached", { path, reason: describeError(thrown) });
      }
    },
  };
}
