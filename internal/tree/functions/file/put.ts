import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { temporaryName } from "../../../base/file.ts";
import { type Attributes, setAttributesOfOpen } from "./attributes.ts";
import { failureOf } from "./look.ts";

/**
 * Puts a new file in the place of whatever has this name, whole or not at all. Nobody else can open it
 * before it has its owner and mode; a symbolic link of that name is replaced and never followed.
 *
 * It is not forced to the disk: a state that a power cut undoes is applied again.
 *
 * @param check looks at the new file before it takes its place, and throws to keep it from that
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
