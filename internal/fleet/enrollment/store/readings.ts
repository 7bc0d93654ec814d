import { createBoundedMap } from "../../../base/bounded-map.ts";
import { attempt } from "../../../base/errors.ts";
import { decodeMap, type Enrollment, fromStored, type StoredMap } from "../record/mod.ts";
import type { Sealed } from "./vouchers.ts";

// A record is looked at by many parts of a master within a short time: the code that decides about it, the log of
// decisions, and the list of enrollments, each of them for every change. So what was read is kept for a while, with
// the bytes that it was read from. All who read the same bytes get the same objects, which nobody may change.

/** What is stored under the ID of an enrollment, decoded and read on first use. */
export interface RecordReading {
  readonly value: Uint8Array;
  /** The stored form; `undefined` when it is not a map. */
  readonly map: StoredMap | undefined;
  /** @throws SvcError `internal` when it is not an enrollment record */
  record(): Enrollment;
}

/** The records that a master read last. */
export interface Readings {
  /** What these bytes say. They are copied: they may be a part of all that the bus sent at that moment. */
  of(id: string, value: Uint8Array): RecordReading;
  /** Keeps what this master is about to write: the bytes, and what they say. */
  retain(value: Uint8Array, sealed: Sealed): void;
  /** Notes what this master wrote, or that it does not know what is stored. */
  wrote(id: string, written: Written | undefined): void;
  /**
   * What this master wrote last of a record. Others may have changed it since: what is decided about it may only be
   * stored as a change of this revision, and nothing may be refused because of it.
   */
  lastWritten(id: string): Written | undefined;
}

/** A record that this master wrote, and its revision in the bucket. */
export interface Written {
  record: Enrollment;
  revision: number;
}

/** What the records that are kept may take as they are stored, bytes; decoded they take some times as much. */
const maxBytes = 768 * 1024;
/** Hosts that enroll at the same time, several times over: what is approved much later is read again. */
const maxWritten = 512;

export function createReadings(): Readings {
  /** Two versions of each: the log of decisions compares what is written with what it replaces. */
  const kept = createBoundedMap<{ now: RecordReading; before: RecordReading | undefined }>(maxBytes);
  const written = createBoundedMap<Written>(maxWritten);
  const add = (id: string, now: RecordReading) => {
    const before = kept.get(id)?.now;
    kept.set(id, { now, before }, now.value.length + (before?.value.length ?? 0));
    return now;
  };
  return {
    of(id, value) {
      const { now, before } = kept.get(id) ?? {};
      if (now !== undefined && Buffer.compare(now.value, value) === 0) return now;
      if (before !== undefined && Buffer.compare(before.value, value) === 0) return before;
      return add(id, readRecord(new Uint8Array(value)));
    },
    retain(value, { record, stored }) {
      add(record.id, { value, map: stored, record: () => record });
    },
    wrote(id, one) {
      if (one === undefined) written.delete(id);
      else written.set(id, one);
    },
    lastWritten: (id) => written.get(id),
  };
}

export function readRecord(value: Uint8Array): RecordReading {
  let stored: { map: StoredMap | undefined } | undefined;
  let record: Enrollment | undefined;
  const readMap = () => {
    stored ??= { map: mapOf(value) };
    return stored.map;
  };
  return {
    value,
    get map() {
      return readMap();
    },
    record() {
      record ??= fromStored(readMap());
      return record;
    },
  };
}

/** The stored form; `undefined` when it is not a map. */
export function mapOf(value: Uint8Array): StoredMap | undefined {
  return attempt(() => decodeMap(value));
}
