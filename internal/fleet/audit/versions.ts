import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent } from "../../base/file.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import { auditSubject, type Bus, readRange, streamEnds } from "../../bus/mod.ts";
import { auditStream } from "./append.ts";
import { isSignedEntry, readEntry } from "./entry.ts";
import { createKeptFile } from "./kept-file.ts";

/** How many entries are read at once. */
const atOnce = 1_000;
/** More operators than any fleet has. */
const mostNames = 100_000;

/**
 * The greatest version of each operator's record that the audit or this master knows. A record with a smaller one is
 * an old one that someone put back on the bus.
 */
export interface VersionFloors {
  /** 0 for a name that was never seen. */
  of(name: string): number;
  /** Takes note of a record that was verified; it is remembered across restarts. */
  note(name: string, version: number): void;
  /** Reads what was written in the audit since the last time. @throws SvcError `storage` */
  refresh(): Promise<void>;
  /** Why its file is outdated; `undefined` when it is not. */
  readonly problem: string | undefined;
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
    const isNews = version > (versions.get(name) ?? 0) && (versions.has(name) || versions.size < mostNames);
    if (isNews) versions.set(name, version);
    return isNews;
  };
  const file = createKeptFile({
    ...{ path, holds: "the versions of operators", log },
    render: () => `${JSON.stringify({ v: 1, seq, versions: Object.fromEntries(versions) })}\n`,
  });
  const take = (data: Uint8Array, sequence: number): boolean => {
    try {
      const entry = readEntry(data);
      const isGenuine = entry.seq === sequence && keys().includes(entry.keyOfMaster) && isSignedEntry(entry);
      const { operator, version } = entry.subjects;
      // What failed has written nothing.
      if (!isGenuine || entry.outcome !== "done" || typeof operator !== "string") return false;
      return typeof version === "number" && Number.isSafeInteger(version) && raise(operator, version);
    } catch {
      // No master wrote it.
      return false;
    }
  };
  const read = async () => {
    const { last } = await streamEnds(bus, auditStream);
    // Another stream than the one that was read: what is known stays.
    if (last < seq) seq = 0;
    let isNews = false;
    while (seq < last) {
      const filter = auditSubject("operators.>");
      const found = await readRange(bus, auditStream, { from: seq + 1, count: atOnce, filter });
      for (const { data, sequence } of found) if (take(data, sequence)) isNews = true;
      seq =
        found.length < atOnce
          ? Math.max(last, found.at(-1)?.sequence ?? 0)
          : (found.at(-1)?.sequence ?? last);
    }
    if (isNews) file.save();
    else file.retry();
  };
  return {
    of: (name) => versions.get(name) ?? 0,
    note(name, version) {
      if (raise(name, version)) file.save();
    },
    refresh: shareRuns(read),
    get problem() {
      return file.problem;
    },
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
