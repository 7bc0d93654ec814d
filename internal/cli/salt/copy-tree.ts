import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { maxFiles, walkDirectory } from "../../tree/files/mod.ts";
import type { OutputDirectory } from "./output.ts";
import { readBytes } from "./read-text.ts";
import type { Items, Subject } from "./report.ts";
import type { Environment } from "./roots.ts";

/** A copied file. */
export interface Copied {
  /** Below the written directory, such as `states/web.sls`. */
  path: string;
  /** Below the root that it came from. */
  below: string;
  /** Its content, for state files, settings files and what is small enough to look at. */
  text: string | undefined;
}

export interface CopyOptions {
  about: Subject & ("states" | "settings");
  /** Where to, below the written directory. */
  into: string;
  /** Permission bits of files that are not executable. */
  mode: number;
  /** The largest file that is used at its new place, in bytes. */
  max: number;
  out: OutputDirectory;
  items: Items;
  budget: Budget;
  /** Throws when the import was stopped. */
  pause(): Promise<void>;
}

/** What all trees together may take. */
export interface Budget {
  files: number;
  bytes: number;
}

/** @returns the budget of one import */
export function newBudget(): Budget {
  return { files: maxFiles, bytes: 4 * 1024 ** 3 };
}

const maxScanned = 1024 * 1024;
const filesBetweenPauses = 50;

/**
 * Copies the files of one environment. No symbolic link is followed out of a root.
 *
 * @throws SvcError when a directory cannot be read, or there is too much
 */
export async function copyTree({ roots }: Environment, options: CopyOptions): Promise<Copied[]> {
  const { about, into, out, items, budget, max } = options;
  const copied = new Map<string, Copied>();
  for (const root of roots) {
    const warnings: string[] = [];
    for (const { path, real } of walkDirectory(root, warnings, { followsLinks: true })) {
      if (copied.has(path)) continue;
      if (copied.size % filesBetweenPauses === 0) await options.pause();
      const read = readOne(real, max, (problem) =>
        items.add(
          about,
          { file: join(root, path) },
          problem,
          "Copy what you need of it to the written directory",
        ),
      );
      if (read === undefined) continue;
      budget.files--;
      budget.bytes -= read.bytes.length;
      if (budget.files < 0)
        throw new SvcError("bad_request", `${root}: more than ${maxFiles} files in all trees`);
      if (budget.bytes < 0) throw new SvcError("bad_request", `${root}: more than 4 GiB in all trees`);
      const to = `${into}/${path}`;
      out.write(
        to,
        read.bytes,
        read.executable ? options.mode | (0o111 & (options.mode >> 2)) : options.mode,
      );
      const text = read.bytes.length <= maxScanned ? read.bytes.toString("utf8") : undefined;
      copied.set(path, { path: to, below: path, text });
    }
    for (const warning of warnings) {
      const [, path = "", problem = warning] = /^(.*?): (.*?)(?:; not published)?$/s.exec(warning) ?? [];
      items.add(
        about,
        { file: join(root, path) },
        `not copied: ${problem}`,
        "Copy what you need of it to the written directory",
      );
    }
  }
  return [...copied.values()];
}

function readOne(path: string, max: number, refuse: (problem: string) => void) {
  try {
    const read = readBytes(path, "the file", max);
    // Between the walk and now another user may have put a link there.
    if (read.path === path) return read;
    refuse("not copied: it was replaced while it was read");
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    refuse(`not copied: ${thrown.message}`);
  }
  return undefined;
}
