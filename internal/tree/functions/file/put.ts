import { basename } from "node:path";
import type { OpenedDirectory } from "../../../base/files/opened-directory.ts";
import { replaceEntry, writeWhole } from "../../../base/files/replace-entry.ts";
import type { Attributes } from "./attributes.ts";
import { failureOf } from "./inspect.ts";

/**
 * Atomically replaces a file in an open directory.
 *
 * Does not sync to disk: after a power failure the state is applied again.
 *
 * @param path for its name, and for messages
 * @param check inspects the new file before it replaces the old one; throws to reject it
 */
export async function putFile(
  directory: OpenedDirectory,
  path: string,
  data: Uint8Array,
  attributes: Attributes,
  check?: (temporary: string) => Promise<void>,
): Promise<void> {
  try {
    await replaceEntry(directory, basename(path), {
      attributes,
      fill: (file) => writeWhole(file, data),
      check,
    });
  } catch (cause) {
    throw failureOf("write", path, cause);
  }
}
