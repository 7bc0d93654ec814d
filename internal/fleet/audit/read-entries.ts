import type { Bus } from "../../bus/connection/mod.ts";
import { readRange, type StreamEnds } from "../../bus/streams/mod.ts";
import { auditSubject } from "../../bus/subjects/subjects.ts";
import { auditStream } from "./append.ts";
import { type Entry, genuineEntry } from "./entry.ts";

/** How many entries are read at once. */
const atOnce = 1_000;

/**
 * Reads the entries of some actions that masters wrote after a place. What no master wrote is left out.
 *
 * @param options.actions a subject below `svc.audit.`; wildcards allowed
 * @param options.after the sequence up to which everything was read before
 * @param options.ends the ends of the audit, asked for just now
 * @returns the sequence up to which everything is read now
 * @throws SvcError `storage`
 */
export async function readEntriesAfter(options: {
  bus: Bus;
  /** The public command keys that the fleet has or had. */
  keys(): readonly string[];
  actions: string;
  after: number;
  ends: Pick<StreamEnds, "last">;
  take(entry: Entry): void;
}): Promise<number> {
  const { bus, keys, actions, take } = options;
  const { last } = options.ends;
  // Another stream than the one that was read: what was taken stays.
  let seq = last < options.after ? 0 : options.after;
  while (seq < last) {
    const filter = auditSubject(actions);
    const found = await readRange(bus, auditStream, { from: seq + 1, count: atOnce, filter });
    for (const { data, sequence } of found) {
      const entry = genuineEntry(data, sequence, keys());
      if (entry !== undefined) take(entry);
    }
    const newest = found.at(-1)?.sequence ?? last;
    seq = found.length < atOnce ? Math.max(last, newest) : newest;
  }
  return seq;
}
