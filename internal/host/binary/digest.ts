import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** Hexadecimal SHA-256 of a file, read in pieces. @throws as the operating system says */
export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(piece);
  return hash.digest("hex");
}
