import { statfs } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { type DiskRoom, describeFullDisk, roomOf } from "../../base/files/disk-room.ts";
import type { Log } from "../../base/log.ts";

const everyMs = 2_000;
const mebibyte = 1024 * 1024;
/** With less a server cannot write a block. */
const fullBytes = 4 * mebibyte;
/** It must have so much again: a disk around the limit would be full and have room in turns. */
const roomBytes = 8 * mebibyte;
/** A server makes files for each stream and consumer: without inodes it stops, whatever room there is. */
const fullFiles = 64;
const roomFiles = 128;

/** The disk of a bus, as its master watches it. */
export interface WatchedDisk {
  /** What is wrong with it, and what to do; `undefined` while it has room. */
  problem(): { message: string; next: string } | undefined;
  stop(): void;
}

const roomOn = async (directory: string) => roomOf(await statfs(directory));

/**
 * Watches whether a disk is full. A server does not say that by itself: its streams refuse, or do not answer.
 *
 * @param options.onRoom called when a disk that was full has room again
 */
export function watchDisk(options: {
  directory: string;
  read?: ((directory: string) => Promise<DiskRoom>) | undefined;
  onRoom(): void;
  clock: Clock;
  log: Log;
}): WatchedDisk {
  const { directory, read = roomOn, onRoom, clock, log } = options;
  let full: DiskRoom | undefined;
  const inspect = async () => {
    const room = await read(directory);
    const before = full;
    const counts = { directory, free_bytes: room.free, ...defined({ free_files: room.files?.free }) };
    full = isFull(room, before !== undefined) ? room : undefined;
    if (full !== undefined && before === undefined) {
      log.error("the disk of the bus is full", { ...counts, next: describe(full, directory).next });
    }
    if (full === undefined && before !== undefined) {
      log.info("the disk of the bus has room again", counts);
      onRoom();
    }
  };
  const inspectOrReport = () => {
    inspect().catch((thrown) =>
      log.debug("the room on the disk of the bus is not known", { reason: describeError(thrown) }),
    );
  };
  inspectOrReport();
  const timer = clock.every(everyMs, inspectOrReport);
  return {
    problem: () => (full === undefined ? undefined : describe(full, directory)),
    stop: () => timer.cancel(),
  };
}

/** @param wasFull then it must have more to have room again */
function isFull({ free, files }: DiskRoom, wasFull: boolean): boolean {
  if (free < (wasFull ? roomBytes : fullBytes)) return true;
  return files !== undefined && files.free < (wasFull ? roomFiles : fullFiles);
}

/** Whether it is full of files and not of bytes. */
const isOfFiles = ({ free, files }: DiskRoom) =>
  free >= fullBytes && files !== undefined && files.free < roomFiles;

const describe = (room: DiskRoom, directory: string) =>
  describeFullDisk(room, { files: isOfFiles(room) }, directory, "the bus");
