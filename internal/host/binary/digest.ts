import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** Hexadecimal SHA-256 of a file, read in chunks. @throws errors of the operating system */
export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(piece);
  return hash.digest("hex");
}

/** Hexadecimal SHA-256 of bytes. */
export function digestOf(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
