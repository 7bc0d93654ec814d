import { dirname } from "node:path";
import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory } from "../../base/files/new-files.ts";
import { instant } from "../../base/instant.ts";
import type { Log } from "../../base/log.ts";
import type { Token } from "./record.ts";

/** Tokens that ended before their time, on the disk of a master: the bus cannot bring them back. */
export interface EndedTokens {
  has(id: string): boolean;
  /** On disk when it returns; without a disk that can be written to, in memory. */
  add(token: Pick<Token, "id" | "expiresAt">): void;
}

const stored = v.record(v.string(), instant);

/** @param path of the file; each master has its own */
export function openEndedTokens(options: { path: string; clock: Pick<Clock, "now">; log: Log }): EndedTokens {
  const { path, clock, log } = options;
  const ended = new Map<string, number>();
  try {
    const text = readTextIfPresent(path);
    const found = text === undefined ? {} : v.parse(v.pipe(v.string(), v.parseJson(), stored), text);
    for (const [id, expiresAt] of Object.entries(found)) ended.set(id, expiresAt);
  } catch (thrown) {
    log.error("the list of ended tokens cannot be read", { path, reason: describeError(thrown) });
  }
  const save = () => {
    try {
      makePrivateDirectory(dirname(path));
      const lines = Object.fromEntries([...ended].map(([id, at]) => [id, rfc3339(at)]));
      writeFileAtomic(path, `${JSON.stringify(lines)}\n`, secretMode);
    } catch (thrown) {
      log.error("the list of ended tokens cannot be written", { path, reason: describeError(thrown) });
    }
  };
  return {
    has: (id) => ended.has(id),
    add({ id, expiresAt }) {
      const now = clock.now();
      if (ended.has(id) || expiresAt <= now) return;
      // What is over by its own time needs no place here.
      for (const [other, at] of ended) if (at + spareMs <= now) ended.delete(other);
      ended.set(id, expiresAt);
      save();
    },
  };
}

/** How much the clock of a master may have been ahead. */
const spareMs = 24 * 3_600_000;
