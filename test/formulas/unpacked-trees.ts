import { existsSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../harness/temporary.ts";

/** The directory with the trees of formulas, unpacked where that is needed. */
export async function unpackedTrees(directory: string): Promise<AsyncDisposable & { path: string }> {
  if (existsSync(join(directory, "t"))) {
    return { path: join(directory, "t"), [Symbol.asyncDispose]: async () => {} };
  }
  const files = temporaryDirectory("formulas");
  const packed = join(directory, "trees.tar.xz");
  const { exitCode, stderr } = Bun.spawnSync(["tar", "-xJf", packed, "-C", files.path]);
  if (exitCode !== 0) throw new Error(`cannot unpack ${packed}: ${stderr}`);
  return { path: join(files.path, "t"), [Symbol.asyncDispose]: async () => files[Symbol.dispose]() };
}
