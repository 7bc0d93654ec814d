import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { type Contents, createDirectoryScan } from "../files/mod.ts";
import { openCatFile } from "./cat-file.ts";
import { type Git, openGit } from "./git.ts";
import { readTree } from "./read-tree.ts";

/** Changes that are named; the others are counted. */
const maxNamed = 5;

/** The state files in a directory of an operator. */
export interface Checkout {
  files: Contents;
  /** The commit that gave the files; absent for a directory that Git does not know. */
  commit?: string;
  /** Files that are omitted, and why. */
  warnings: readonly string[];
}

/**
 * Reads the state files of a directory as masters read its repository. In a Git work tree these are the blobs of a
 * commit below that directory: what is on disk could have been changed on the way there, by filters or line ends.
 *
 * @param commit of a work tree; HEAD unless given, and then a change that Git does not ignore is refused
 * @throws SvcError `conflict` naming what is not committed, `not_found` for an unknown commit, `unavailable`,
 *   `too_large`, `storage`
 */
export async function readCheckout(
  directory: string,
  {
    commit,
    maxBytes,
    clock,
    signal,
  }: { commit?: string | undefined; maxBytes: number; clock: Clock; signal: AbortSignal },
): Promise<Checkout> {
  const top = realDirectory(directory);
  const git = openGit({ sshKey: "", knownHosts: join(top, "known_hosts"), clock, signal });
  const prefix = await git.attempt(top, ["rev-parse", "--show-prefix"]);
  if (prefix.code !== 0) {
    if (!prefix.reason.includes("not a git repository"))
      throw new SvcError("unavailable", `${top}: ${prefix.reason}`);
    if (commit !== undefined)
      throw new SvcError("bad_request", `${top} is not a Git work tree, so it has no commits`);
    return createDirectoryScan(top, clock).scan();
  }
  if (commit === undefined) await assertCommitted(git, top);
  const id = await commitOf(git, top, commit ?? "HEAD");
  const contents = openCatFile(git, top, clock);
  try {
    const below = prefix.stdout.trimEnd();
    const reader = { git, repository: top, contents, hashes: new Map(), maxBytes, clock };
    const { files, warnings } = await readTree(reader, below === "" ? id : `${id}:${below}`);
    return { files, warnings, commit: id };
  } finally {
    await contents.stop();
  }
}

/** The top of the Git work tree that a directory is in. @throws SvcError `bad_request` outside of one */
export async function findWorkTree(
  directory: string,
  options: { clock: Clock; signal: AbortSignal },
): Promise<string> {
  const git = openGit({ sshKey: "", knownHosts: join(directory, "known_hosts"), ...options });
  const { code, stdout } = await git.attempt(directory, ["rev-parse", "--show-toplevel"]);
  if (code === 0) return stdout.trimEnd();
  throw new SvcError(
    "bad_request",
    `${directory} is not in a Git work tree: name the directory of the state files with --tree`,
  );
}

function realDirectory(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (cause) {
    throw new SvcError("bad_request", `${directory} does not exist`, { cause });
  }
}

async function assertCommitted(git: Git, top: string): Promise<void> {
  const status = await git.run(top, [
    "status",
    "--porcelain",
    "-z",
    "--untracked-files=all",
    "--no-renames",
    "--",
    ".",
  ]);
  const changed = status.split("\0").flatMap((line) => (line === "" ? [] : [line.slice(3)]));
  if (changed.length === 0) return;
  const more = changed.length > maxNamed ? ` and ${changed.length - maxNamed} more` : "";
  throw new SvcError(
    "conflict",
    `${top} has changes that are not committed: ${changed.slice(0, maxNamed).join(", ")}${more}; commit or remove them`,
  );
}

async function commitOf(git: Git, top: string, name: string): Promise<string> {
  const found = await git.attempt(top, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${name}^{commit}`,
  ]);
  if (found.code === 0) return found.stdout.trim();
  throw new SvcError("not_found", `${top} has no commit ${name}`);
}
