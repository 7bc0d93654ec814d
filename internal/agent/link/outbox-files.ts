import { readdirSync, readFileSync, renameSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { isErrno, makeDirectory, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { record } from "../../base/record.ts";
import { blob, optional } from "../../base/record-kinds.ts";

const stored = record(
  "message",
  {
    subject: v.string(),
    payload: blob,
    /** Whether it may be dropped to make room for other messages. */
    droppable: optional(v.literal(true)),
  },
  { isOpen: true },
);

/** A message as stored on disk. */
export type KeptMessage = ReturnType<typeof stored.decode>;

/** Messages in a directory, one per file. The file names are ascending numbers. */
export interface OutboxFiles {
  /** All stored messages, in order. Unreadable files are renamed and kept. */
  load(): { number: number; message: KeptMessage }[];
  /** @throws SvcError `storage` */
  store(number: number, message: KeptMessage): void;
  remove(number: number): void;
}

const named = /^(\d{12})\.msgpack$/;

export function createOutboxFiles(dir: string, log: Log): OutboxFiles {
  const pathOf = (number: number) => join(dir, `${String(number).padStart(12, "0")}.msgpack`);
  let isMade = false;

  const read = (path: string): KeptMessage | undefined => {
    try {
      return stored.decode(readFileSync(path));
    } catch (thrown) {
      log.error("a message in the outbox is damaged and set aside", {
        file: path,
        error: describeError(thrown),
      });
      attempt(() => renameSync(path, `${path}.damaged`));
      return undefined;
    }
  };
  /** For operations that the next start repeats. */
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (thrown) {
      log.warn("the outbox could not be tidied up", { dir, error: describeError(thrown) });
    }
  };

  return {
    load() {
      let names: string[];
      try {
        names = readdirSync(dir).sort();
      } catch (thrown) {
        if (!isErrno(thrown, "ENOENT")) log.error("no outbox", { dir, error: describeError(thrown) });
        return [];
      }
      return names.flatMap((name) => {
        // The temporary file of a write that a crash interrupted.
        if (name.startsWith(".")) attempt(() => unlinkSync(join(dir, name)));
        const number = named.exec(name)?.[1];
        const message = number === undefined ? undefined : read(join(dir, name));
        return message === undefined ? [] : [{ number: Number(number), message }];
      });
    },
    store(number, message) {
      const path = pathOf(number);
      writing(path, () => {
        if (!isMade) makeDirectory(dir, 0o700);
        isMade = true;
        writeFileAtomic(path, stored.encode(message), secretMode);
      });
    },
    remove: (number) => attempt(() => unlinkSync(pathOf(number))),
  };
}
