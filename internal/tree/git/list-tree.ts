import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { stopGroup } from "../../base/process/process-group.ts";
import { maxFiles } from "../files/mod.ts";
import type { Git } from "./git.ts";

/** Bytes of all paths of a listing. */
const maxPathsBytes = 64 * 1024 * 1024;
const maxListingMs = 30_000;
/** What becomes of a ref that could not be read. */
export const again = "the next sync tries it again";

/** An entry of a tree. */
export interface TreeEntry {
  mode: string;
  type: string;
  object: string;
  /** Of a blob. */
  size: number;
  path: string;
}

/**
 * Lists the files of a commit. A few bytes can describe any number of files, so the listing ends at a bound, and what
 * comes after it is never read.
 *
 * @throws SvcError `too_large` beyond a bound, `unavailable` when git fails
 */
export async function listTree(
  git: Git,
  { repository, commit, clock }: { repository: string; commit: string; clock: Clock },
): Promise<TreeEntry[]> {
  const [program = "", ...args] = git.command;
  const child = Bun.spawn([program, ...args, "ls-tree", "-r", "-z", "-l", "--full-tree", commit], {
    cwd: repository,
    env: { ...git.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    detached: true,
  });
  let ending: Promise<void> | undefined;
  let problem: SvcError | undefined;
  const end = (reason?: SvcError) => {
    problem ??= reason;
    ending ??= stopGroup(child.pid, child.exited, clock);
  };
  const timer = clock.after(maxListingMs, () =>
    // Not for good, because this host may have been busy.
    end(
      new SvcError("unavailable", `listing its files takes longer than ${maxListingMs / 1000} s: ${again}`),
    ),
  );
  const collect = collectEntries();
  try {
    for await (const chunk of child.stdout) {
      const reason = collect.add(chunk);
      if (reason === undefined && problem === undefined) continue;
      end(reason === undefined ? undefined : new SvcError("too_large", reason));
      break;
    }
    if (problem === undefined && (await child.exited) !== 0) {
      problem = new SvcError(
        "unavailable",
        "its files cannot be listed: objects are missing or damaged: run git fsck in the repository",
      );
    }
  } finally {
    timer.cancel();
    end();
    await ending;
  }
  if (problem !== undefined) throw problem;
  return collect.entries;
}

/** Takes a listing apart as it comes; `add` returns the bound that it exceeds. */
function collectEntries(): { entries: TreeEntry[]; add(chunk: Uint8Array): string | undefined } {
  const entries: TreeEntry[] = [];
  let rest = Buffer.alloc(0);
  let pathsBytes = 0;
  return {
    entries,
    add(chunk) {
      rest = Buffer.concat([rest, chunk]);
      let from = 0;
      for (let at = rest.indexOf(0); at !== -1; at = rest.indexOf(0, from)) {
        pathsBytes += at - rest.indexOf(9, from);
        const entry = entryOf(rest.toString("utf8", from, at));
        if (entry !== undefined) entries.push(entry);
        from = at + 1;
        if (entries.length > maxFiles) return `it has more than ${maxFiles.toLocaleString("en")} files`;
        if (pathsBytes > maxPathsBytes) return `its paths are longer than ${maxPathsBytes / 1024 / 1024} MiB`;
      }
      rest = rest.subarray(from);
      return rest.length > maxPathsBytes ? "one of its paths does not end" : undefined;
    },
  };
}

function entryOf(line: string): TreeEntry | undefined {
  const match = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(line);
  if (match === null) return undefined;
  const [, mode = "", type = "", object = "", size, path = ""] = match;
  return { mode, type, object, size: Number(size), path };
}
