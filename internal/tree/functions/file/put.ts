import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { temporaryName } from "../../../base/file.ts";
import { type Attributes, setAttributesOfOpen } from "./attributes.ts";
import { failureOf } from "./look.ts";

/**
 * Atomically replaces a path with a new file. No other user can open the file before it has its owner and
 * mode. A symbolic link is replaced, never followed.
 *
 * Does not sync to disk: after a power failure the state is applied again.
 *
 * @param check inspects the new file before it replaces the old one; throws to reject it
 */
export async function putFile(
  path: string,
  data: Uint8Array,
  attributes: Attributes,
  check?: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = temporaryName(path);
  try {
    const file = openSync(temporary, "wx", 0o600);
    try {
      for (let at = 0; at < data.length; ) at += writeSync(file, data, at);
      setAttributesOfOpen(file, attributes);
    } finally {
      closeSync(file);
    }
    await check?.(temporary);
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw failureOf("write", path, cause);
  }
}
