import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { StreamEnds } from "../../bus/streams/mod.ts";
import type { Entry } from "./entry.ts";
import { readEntriesAfter } from "./read-entries.ts";

/** More operators than any fleet has. */
const maxNames = 100_000;

/**
 * The greatest version of each operator's record that the audit or this master knows. A record with a smaller one is
 * an old one that someone put back on the bus.
 */
export interface VersionFloors {
  /** 0 for a name that was never seen. */
  of(name: string): number;
  /** Takes note of a record that was verified; it is remembered across restarts. */
  note(name: string, version: number): void;
  /**
   * Reads what was written in the audit since the last time.
   *
   * @param ends the ends of the audit, asked for just now
   * @throws SvcError `storage`
   */
  refresh(ends: StreamEnds): Promise<void>;
}

const stored = v.strictObject({
  v: v.literal(1),
  seq: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  versions: v.record(v.string(), v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
});

/**
 * Opens the greatest versions that this master remembers. What it remembers is not read from the bus again.
 *
 * @param options.path its file, next to the log of decisions
 * @param options.keys the public command keys that the fleet has or had
 */
export function createVersionFloors(options: {
  bus: Bus;
  path: string;
  keys(): readonly string[];
  log: Log;
}): VersionFloors {
  const { bus, path, keys, log } = options;
  const known = load(path, log);
  const versions = new Map(Object.entries(known.versions));
  let { seq } = known;

  const raise = (name: string, version: number): boolean => {
    const isNews = version > (versions.get(name) ?? 0) && (versions.has(name) || versions.size < maxNames);
    if (isNews) versions.set(name, version);
    return isNews;
  };
  const save = () => {
    const form = { v: 1, seq, versions: Object.fromEntries(versions) };
    try {
      writeFileAtomic(path, `${JSON.stringify(form)}\n`, secretMode);
    } catch (thrown) {
      log.warn("the versions of operators are kept in memory only", { path, reason: describeError(thrown) });
    }
  };
  const read = async (ends: StreamEnds) => {
    let isNews = false;
    const take = ({ outcome, subjects: { operator, version } }: Entry) => {
      // What failed has written nothing.
      if (outcome !== "done" || typeof operator !== "string" || typeof version !== "number") return;
      if (Number.isSafeInteger(version) && raise(operator, version)) isNews = true;
    };
    seq = await readEntriesAfter({ bus, keys, actions: "operators.>", after: seq, ends, take });
    if (isNews) save();
  };
  return {
    of: (name) => versions.get(name) ?? 0,
    note(name, version) {
      if (raise(name, version)) save();
    },
    refresh: read,
  };
}

/** A file that cannot be read counts as empty: the audit has all of it. */
function load(path: string, log: Log): { seq: number; versions: Record<string, number> } {
  try {
    const text = readTextIfPresent(path);
    if (text !== undefined) return v.parse(stored, JSON.parse(text));
  } catch (thrown) {
    log.warn("the versions of operators are read from the audit again", {
      path,
      reason: describeError(thrown),
    });
  }
  return { seq: 0, versions: {} };
}
