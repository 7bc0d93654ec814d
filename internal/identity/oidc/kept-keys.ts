import { join } from "node:path";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory } from "../../base/files/new-files.ts";
import { instant } from "../../base/instant.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type PublicKey, parseJson, parseKeySet } from "./key-set.ts";

/** The keys of a provider, and when they were fetched. */
export interface Fetched {
  keys: PublicKey[];
  /** Milliseconds since the Unix epoch. */
  at: number;
}

const stored = v.object({ issuer: v.string(), fetched_at: instant, keys: v.unknown() });

/** Keys on disk, for a start while the provider is down. */
export interface KeptKeys {
  load(): Fetched | undefined;
  save(fetched: Fetched): void;
}

/** The keys of one provider in a directory that only its owner can write to. */
export function keptKeys(directory: string, issuer: string, log: Log): KeptKeys {
  const path = join(directory, `${sha256Hex(issuer).slice(0, 32)}.json`);
  const attempt = <T>(what: string, run: () => T): T | undefined => {
    try {
      return run();
    } catch (thrown) {
      log.warn(what, { issuer, path, reason: describeError(thrown) });
      return undefined;
    }
  };
  return {
    load: () =>
      attempt("the kept keys of an identity provider cannot be read", () => {
        const text = readTextIfPresent(path);
        if (text === undefined) return undefined;
        const found = v.parse(stored, parseJson(path, text));
        if (found.issuer !== issuer) return undefined;
        return { keys: parseKeySet({ keys: found.keys }), at: found.fetched_at };
      }),
    save: ({ keys, at }) =>
      attempt("the keys of an identity provider cannot be kept", () => {
        makePrivateDirectory(directory);
        const text = JSON.stringify({ issuer, fetched_at: rfc3339(at), keys });
        writeFileAtomic(path, `${text}\n`, secretMode);
      }),
  };
}
