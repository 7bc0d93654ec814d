import { closeSync, constants, fsyncSync, readFileSync, type Stats, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { isErrno, temporaryName } from "./file.ts";
import { type OpenedDirectory, openDirectory } from "./opened-directory.ts";
import { overwrite } from "./overwrite.ts";
import { type FileAttributes, setOwnerAndMode } from "./owner-and-mode.ts";
import { createPrivateDirectory } from "./private-directory.ts";
import { forgetOverwrite, noteOverwrite, undoOverwrite } from "./unfinished.ts";

export interface Replacement {
  attributes: FileAttributes;
  /** Writes the content to the descriptor. */
  fill: (file: number) => Promise<void> | void;
  /** Inspects the new file, by its path for child processes, before it replaces the old one. Throws to reject it. */
  check?: ((path: string) => Promise<void>) | undefined;
  /** Whether the file must survive a power failure from now on. */
  durable?: boolean;
}

/**
 * Atomically replaces an entry of a directory with a new file. No other user can open the file before it has
 * its owner and mode. A symbolic link is replaced, never followed. A file that is a mount is written in place.
 */
export async function replaceEntry(
  directory: OpenedDirectory,
  name: string,
  { attributes, fill, check, durable }: Replacement,
): Promise<void> {
  using stage = createStage(directory, name);
  try {
    await fill(stage.file);
    finish(stage.file, attributes, durable);
  } finally {
    closeSync(stage.file);
  }
  await check?.(stage.directory.forChild(stage.name));
  place(stage, directory, name, attributes);
  if (durable === true) directory.sync();
}

/** Same as `replaceEntry`, durable and at once, for content in memory. */
export function replaceEntryNow(
  directory: OpenedDirectory,
  name: string,
  data: Uint8Array,
  attributes: FileAttributes,
): void {
  using stage = createStage(directory, name);
  try {
    writeWhole(stage.file, data);
    finish(stage.file, attributes, true);
  } finally {
    closeSync(stage.file);
  }
  place(stage, directory, name, attributes);
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

/** A new file that becomes the entry. Disposing of it removes what is left of it. */
interface Stage extends Disposable {
  directory: OpenedDirectory;
  name: string;
  /** The open file. */
  file: number;
}

function createStage(directory: OpenedDirectory, name: string): Stage {
  const temporary = temporaryName(name);
  try {
    const file = createEntry(directory, temporary);
    return {
      ...{ directory, file },
      name: temporary,
      [Symbol.dispose]: () => directory.remove(temporary),
    };
  } catch (cause) {
    // A container with a read-only root may have a mount on this one file, which can be written.
    if (!isErrno(cause, "EROFS") || directory.stats(name)?.isFile() !== true) throw cause;
    return createStageElsewhere();
  }
}

function createStageElsewhere(): Stage {
  const parent = openDirectory(tmpdir());
  const own = createPrivateDirectory(parent, "svc-stage");
  const file = createEntry(own.directory, "new");
  return {
    ...{ directory: own.directory, file, name: "new" },
    [Symbol.dispose]() {
      own[Symbol.dispose]();
      parent[Symbol.dispose]();
    },
  };
}

function finish(file: number, attributes: FileAttributes, durable: boolean | undefined): void {
  setOwnerAndMode(file, attributes);
  if (durable === true) fsyncSync(file);
}

function place(stage: Stage, directory: OpenedDirectory, name: string, attributes: FileAttributes): void {
  if (stage.directory === directory) {
    try {
      directory.move(stage.name, directory, name);
      return;
    } catch (cause) {
      if (!isErrno(cause, "EBUSY")) throw cause;
    }
  }
  undoOverwrite(directory, name);
  const content = stage.directory.openFile(stage.name, constants.O_RDONLY);
  try {
    const file = directory.openFile(name, constants.O_RDWR);
    const notes = {
      begin: (before: Buffer, stats: Stats) => noteOverwrite(directory, name, stage.name, before, stats),
      end: () => forgetOverwrite(directory, name),
    };
    try {
      overwrite(file, readFileSync(content), attributes, stage.directory === directory ? notes : undefined);
    } finally {
      closeSync(file);
    }
  } finally {
    closeSync(content);
  }
}
