import { encode } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { SourceFile } from "./files.ts";

/**
 * The snapshot of files: what they are, whatever they are called and wherever they come from. It is the SHA-256 of the
 * MessagePack of the list of `[path, executable, size, SHA-256 of the content]`, sorted by the bytes of the path. Peels,
 * masters and operators compute it from what they hold, so nobody has to believe another one.
 *
 * @returns 64 hexadecimal digits
 */
export function snapshotOf(files: Iterable<readonly [path: string, file: SourceFile]>): string {
  const keyed = Array.from(files, ([path, file]) => ({ path, file, key: Buffer.from(path) }));
  keyed.sort((one, other) => Buffer.compare(one.key, other.key));
  const rows = keyed.map(({ path, file: { executable, size, digest } }) => [
    path,
    executable,
    size,
    Buffer.from(digest, "hex"),
  ]);
  return sha256Hex(encode(rows));
}
