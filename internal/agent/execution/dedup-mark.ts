import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import * as v from "valibot";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { record } from "../../base/record.ts";

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const stored = record(
  "mark",
  {
    /** Of the journal that it is about. */
    generation: whole,
    bytes: whole,
  },
  { isOpen: true },
);

/** How much a journal of jobs has at least contained. */
export type Mark = ReturnType<typeof stored.decode>;

/**
 * A file next to the journal with the size that the journal once had: the one witness of records that are gone
 * with the end of their file. It is written after the journal and not synced, so after a power cut it tells
 * less than the journal contains, and never more.
 */
export interface MarkFile {
  /** Replaces the file, for a journal that was written as a whole. Failures are ignored. */
  begin(mark: Mark): void;
  /** Notes that the journal grew. Failures are ignored: the mark then tells less. */
  grow(bytes: number): void;
  close(): void;
}

/** Reads a mark. @returns `unreadable` when there is one that cannot be read */
export function readMark(path: string): Mark | "unreadable" | undefined {
  try {
    return stored.decode(readFileSync(path));
  } catch (cause) {
    return isErrno(cause, "ENOENT") ? undefined : "unreadable";
  }
}

export function openMark(path: string): MarkFile {
  let file: number | undefined;
  let generation = 0;
  const close = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  return {
    begin(mark) {
      close();
      generation = mark.generation;
      try {
        writeFileAtomic(path, stored.encode(mark), secretMode);
        file = openSync(path, "r+");
      } catch {
        // The mark of an earlier generation says nothing about this one.
      }
    },
    grow(bytes) {
      if (file === undefined) return;
      try {
        // A larger number never takes fewer bytes, so nothing of the earlier mark remains.
        const mark = stored.encode({ generation, bytes });
        writeSync(file, mark, 0, mark.length, 0);
      } catch {
        close();
      }
    },
    close,
  };
}
