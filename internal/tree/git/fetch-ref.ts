import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno } from "../../base/files/file.ts";
import type { CatFile } from "./cat-file.ts";
import type { Git } from "./git.ts";
import { slotOf } from "./kept.ts";
import { again } from "./list-tree.ts";
import { tooLarge } from "./read-tree.ts";

export interface FetchDeps {
  git: Git;
  url: string;
  repository: string;
  contents: Pick<CatFile, "find" | "restart">;
  /** `gitfs.max_bytes` */
  maxBytes: number;
}

/** A ref that was fetched, and that may still be given up. */
export interface FetchedRef {
  /** What it points to: a commit, or the tag object of an annotated tag. */
  object: string;
  commit: string;
  /** Fetches it again with more of its history. */
  deepen(depth: number): Promise<void>;
  /** Removes what was fetched, so that refused content does not fill the disk. */
  undo(): Promise<void>;
}

/**
 * Fetches one ref into its slot. Git has no bound of its own for what a server sends, so the kernel ends the step when
 * its pack reaches `maxBytes`.
 *
 * @throws SvcError `too_large` at that size, `unavailable` when git fails or the ref has no commit
 */
export async function fetchRef(
  deps: FetchDeps,
  { ref, depth, kept }: { ref: string; depth: number /** What the slot holds. */; kept: string | undefined },
): Promise<FetchedRef> {
  const { git, repository, contents } = deps;
  const slot = slotOf(ref);
  const before = new Set(packFiles(repository));
  const undo = async () => {
    await git.run(repository, ["update-ref", ...(kept === undefined ? ["-d", slot] : [slot, kept])]);
    const added = packFiles(repository).filter((name) => !before.has(name));
    if (added.length === 0) return;
    for (const name of added) rmSync(join(packDir(repository), name), { force: true });
    await contents.restart();
  };
  await fetchInto(deps, ref, depth);
  try {
    const commit = (await contents.find(`${slot}^{commit}`))?.id;
    // Only then, because anything else may be of any size.
    const object = commit === undefined ? undefined : (await contents.find(slot))?.id;
    if (commit === undefined || object === undefined) {
      throw new SvcError("unavailable", "it does not point to a commit");
    }
    return { object, commit, deepen: (more) => fetchInto(deps, ref, more), undo };
  } catch (thrown) {
    await undo();
    throw thrown;
  }
}

async function fetchInto({ git, url, repository, maxBytes }: FetchDeps, ref: string, depth: number) {
  const args = [
    ...["fetch", "--quiet", "--force", `--depth=${depth}`, "--no-tags", "--no-write-fetch-head"],
    ...["--no-auto-gc", "--no-recurse-submodules", "--", url, `+${ref}:${slotOf(ref)}`],
  ];
  try {
    await git.run(repository, args, { fileBytes: maxBytes });
  } catch (thrown) {
    throw removeTemporary(repository) >= maxBytes ? tooLarge(maxBytes) : withNextStep(thrown);
  }
}

/** The same reason, and what happens next. */
function withNextStep(thrown: unknown): unknown {
  if (!(thrown instanceof SvcError) || thrown.kind !== "unavailable") return thrown;
  // Between the listing and the fetch.
  const reason = thrown.message.includes("couldn't find remote ref")
    ? "it was deleted while it was read"
    : thrown.message;
  return new SvcError("unavailable", `${reason}: ${again}`);
}

/** Removes what a stopped fetch left. @returns the size of the largest of these files */
export function removeTemporary(repository: string): number {
  let largest = 0;
  for (const name of packFiles(repository)) {
    if (!name.startsWith("tmp_")) continue;
    const path = join(packDir(repository), name);
    largest = Math.max(largest, statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    rmSync(path, { force: true });
  }
  return largest;
}

/** How many packs a mirror has. */
export function packsIn(repository: string): number {
  return packFiles(repository).filter((name) => name.endsWith(".pack")).length;
}

const packDir = (repository: string) => join(repository, "objects", "pack");

function packFiles(repository: string): string[] {
  try {
    return readdirSync(packDir(repository));
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return [];
    throw thrown;
  }
}
