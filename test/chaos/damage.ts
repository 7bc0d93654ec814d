import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Changes one bit of a file. @param place in [0, 1), from its begin to its end */
export function flipBit(path: string, place: number): void {
  const bytes = readFileSync(path);
  if (bytes.length === 0) return;
  const at = Math.floor(place * bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

/** A journal of accepted jobs; absent before the first one. */
export function journalOf(peelDir: string): string | undefined {
  const path = join(peelDir, "peel-dedup.msgpack");
  return existsSync(path) ? path : undefined;
}

/** One of the message blocks in the store of a server. @param place in [0, 1): which one */
export function blockOf(store: string, place: number): string | undefined {
  const blocks = (readdirSync(store, { recursive: true }) as string[])
    .filter((name) => name.includes("/streams/") && name.endsWith(".blk"))
    .sort();
  const name = blocks[Math.floor(place * blocks.length)];
  return name === undefined ? undefined : join(store, name);
}
