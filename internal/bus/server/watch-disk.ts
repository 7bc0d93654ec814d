import { statfs } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";

const everyMs = 2_000;
const mebibyte = 1024 * 1024;
/** With less a server cannot write a block. */
const fullBytes = 4 * mebibyte;
/** It must have so much again: a disk around the limit would not be full and have room in turns. */
const roomBytes = 8 * mebibyte;

/** The disk of a bus, as its master watches it. */
export interface WatchedDisk {
  /** What is wrong with it, and what to do; `undefined` while it has room. */
  problem(): { message: string; next: string } | undefined;
  stop(): void;
}

/** The bytes of a disk, and how many of them may still be written. */
export interface DiskRoom {
  free: number;
  total: number;
}

async function roomOn(directory: string): Promise<DiskRoom> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { free: bavail * bsize, total: blocks * bsize };
}

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
  const next = `make room on the disk of ${directory}: the bus continues by itself`;
  let full: DiskRoom | undefined;
  const inspect = async () => {
    const room = await read(directory);
    const { free } = room;
    const before = full;
    full = free < (before === undefined ? fullBytes : roomBytes) ? room : undefined;
    if (full !== undefined && before === undefined) {
      log.error("the disk of the bus is full", { directory, free_bytes: free, next });
    }
    if (full === undefined && before !== undefined) {
      log.info("the disk of the bus has room again", { directory, free_bytes: free });
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
    problem: () =>
      full === undefined
        ? undefined
        : { message: `the disk of ${directory} is full: ${wordsOf(full)}`, next },
    stop: () => timer.cancel(),
  };
}

const wordsOf = ({ free, total }: DiskRoom): string =>
  `${Math.floor(free / 1024)} KiB of ${Math.floor(total / mebibyte)} MiB are free`;
