import { formatByteSize } from "../../base/byte-size.ts";
import type { Clock } from "../../base/clock.ts";
import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import {
  type Content,
  type Contents,
  cut,
  fileProblem,
  type ManifestFile,
  startHashing,
} from "../files/mod.ts";
import type { CatFile } from "./cat-file.ts";
import type { Git } from "./git.ts";
import { listTree, type TreeEntry } from "./list-tree.ts";

const readsAtOnce = 64;

/** The files of a commit. */
export interface Tree {
  files: Contents;
  /** Files that are omitted, and why. */
  warnings: readonly string[];
  objects: readonly string[];
}

/** What is known of objects: a file that did not change is never read again. */
export type Hashes = Map<string, Pick<ManifestFile, "digest" | "size" | "blobs">>;

export interface TreeReader {
  git: Git;
  repository: string;
  contents: Pick<CatFile, "read">;
  hashes: Hashes;
  /** `gitfs.max_bytes` */
  maxBytes: number;
  clock: Clock;
}

/** @throws SvcError `too_large` when it exceeds a bound, `unavailable` when objects cannot be read */
export async function readTree(reader: TreeReader, commit: string): Promise<Tree> {
  const { contents, hashes, maxBytes } = reader;
  const warnings: string[] = [];
  const listed = await listTree(reader.git, { ...reader, commit });
  const entries = listed.filter((entry) => {
    const problem = leftOut(entry);
    if (problem !== undefined) {
      warnings.push(`${quote(entry.path, 200)}: ${problem}; not published`);
    }
    return problem === undefined;
  });
  const sizes = new Map(entries.map(({ object, size }) => [object, size]));
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  const unhashed = [...sizes.keys()].filter((object) => !hashes.has(object));
  await mapBounded(unhashed, { atOnce: readsAtOnce }, async (object) => {
    const hashing = startHashing();
    for (const piece of cut(await contents.read(object))) hashing.add(piece);
    hashes.set(object, hashing.result());
  });
  const files = new Map<string, Content>();
  for (const { path, object, mode } of entries) {
    const hashed = hashes.get(object);
    if (hashed === undefined) continue;
    files.set(path, { ...hashed, executable: mode === "100755", pieces: () => piecesOf(contents, object) });
  }
  return { files, warnings, objects: [...sizes.keys()] };
}

/** What is larger than `gitfs.max_bytes`. */
export function tooLarge(maxBytes: number): SvcError {
  return new SvcError("too_large", `it is larger than ${formatByteSize(maxBytes)} (gitfs.max_bytes)`);
}

async function* piecesOf(contents: TreeReader["contents"], object: string): AsyncGenerator<Uint8Array> {
  yield* cut(await contents.read(object));
}

/** Why an entry of a tree is not published. */
function leftOut(entry: TreeEntry): string | undefined {
  if (entry.type === "commit") return "a submodule";
  if (entry.mode === "120000") return "a symbolic link: put the file itself there";
  if (entry.type !== "blob") return "neither a file nor a directory";
  return fileProblem(entry);
}
