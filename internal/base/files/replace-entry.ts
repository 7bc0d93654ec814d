import { closeSync, constants, fsyncSync, writeSync } from "node:fs";
import { temporaryName } from "./file.ts";
import type { OpenedDirectory } from "./opened-directory.ts";
import { type FileAttributes, setOwnerAndMode } from "./owner-and-mode.ts";

export interface Replacement {
  attributes: FileAttributes;
  /** Writes the content to the descriptor. */
  fill: (file: number) => Promise<void> | void;
  /** Inspects the new file, which is an entry of the directory, before it replaces the old one. Throws to reject it. */
  check?: ((name: string) => Promise<void>) | undefined;
  /** Whether the file must survive a power failure from now on. */
  durable?: boolean;
}

/**
 * Atomically replaces an entry of a directory with a new file. No other user can open the file before it has
 * its owner and mode. A symbolic link is replaced, never followed.
 */
export async function replaceEntry(
  directory: OpenedDirectory,
  name: string,
  { attributes, fill, check, durable }: Replacement,
): Promise<void> {
  const temporary = temporaryName(name);
  try {
    const file = createEntry(directory, temporary);
    try {
      await fill(file);
      setOwnerAndMode(file, attributes);
      if (durable === true) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    await check?.(temporary);
    directory.move(temporary, directory, name);
  } catch (cause) {
    directory.remove(temporary);
    throw cause;
  }
  if (durable === true) directory.sync();
}

/** Same as `replaceEntry`, durable and at once, for content in memory. */
export function replaceEntryNow(
  directory: OpenedDirectory,
  name: string,
  data: Uint8Array,
  attributes: FileAttributes,
): void {
  const temporary = temporaryName(name);
  try {
    const file = createEntry(directory, temporary);
    try {
      writeWhole(file, data);
      setOwnerAndMode(file, attributes);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    directory.move(temporary, directory, name);
  } catch (cause) {
    directory.remove(temporary);
    throw cause;
  }
  directory.sync();
}

/** Creates a file that only its owner can open. @returns its descriptor */
export function createEntry(directory: OpenedDirectory, name: string): number {
  return directory.openFile(name, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600);
}

/** Writes all bytes at the position of an open file. */
export function writeWhole(file: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) at += writeSync(file, data, at);
}
