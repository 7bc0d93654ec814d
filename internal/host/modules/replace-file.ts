import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { syncDirectory, temporaryName } from "../../base/file.ts";
import { type Owner, setOwnerAndMode } from "./touch.ts";

/**
 * Atomically replaces a path with a new file. A symbolic link is replaced, never followed. No other user can
 * open the new file before it has its owner and mode.
 *
 * @param fill writes the content to the descriptor
 */
export async function replaceFile(
  path: string,
  { owner, mode }: { owner: Owner; mode: number },
  fill: (file: number) => Promise<void> | void,
): Promise<void> {
  const temporary = temporaryName(path);
  const file = openSync(temporary, "wx", 0o600);
  try {
    try {
      await fill(file);
      setOwnerAndMode(file, owner, mode);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw cause;
  }
  syncDirectory(dirname(path));
}
