import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { SvcError } from "../../base/errors.ts";

/**
 * Reads a file of facts. Bytes that are not text would become other facts without a word.
 *
 * @throws SvcError `bad_request` when it is not UTF-8; errors of the operating system
 */
export function readFactText(path: string): string {
  const bytes = readFileSync(path);
  if (!isUtf8(bytes)) throw new SvcError("bad_request", `${path}: it is damaged: it is not UTF-8 text`);
  return bytes.toString("utf8");
}
