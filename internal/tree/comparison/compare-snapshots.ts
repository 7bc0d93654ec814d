import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { type Blobs, type ChangedFile, changedFiles } from "./changed-files.ts";
import { describeFile } from "./describe-file.ts";

/** What all comparisons of one answer may take together: a tree can have 100,000 files, and an answer is one message. */
const maxPathBytes = 64 * 1024;
const maxTextBytes = 256 * 1024;
const maxMs = 3_000;

/** What is left of it. */
export interface Budget {
  pathBytes: number;
  textBytes: number;
  readonly isOver: () => boolean;
  readonly signal: AbortSignal;
}

export function comparisonBudget(clock: Pick<Clock, "monotonic">): Budget {
  const end = clock.monotonic() + maxMs;
  return {
    ...{ pathBytes: maxPathBytes, textBytes: maxTextBytes, signal: AbortSignal.timeout(maxMs) },
    isOver: () => clock.monotonic() >= end,
  };
}

/** `+` is new, `~` is another one, `-` is gone. */
interface ShownFile {
  change: "+" | "~" | "-";
  path: string;
}

/** How two snapshots differ. */
export interface Comparison {
  added: number;
  changed: number;
  removed: number;
  files: ShownFile[];
  /** Files that differ and are not listed. */
  left_out: number;
  /** The differences themselves. */
  diff?: string;
}

/**
 * Compares the files of two manifests within what is left of the budget.
 *
 * @param before digest of a manifest; `undefined` for no files at all
 * @throws SvcError `not_found` for files that are no longer stored, `unavailable` when it takes too long, `storage`
 */
export async function compareSnapshots(
  blobs: Blobs,
  { before, after, withText }: { before: string | undefined; after: string; withText: boolean },
  budget: Budget,
): Promise<Comparison> {
  const all = await changedFiles(blobs, before, after, budget.signal).catch((thrown) => {
    if (!budget.signal.aborted) throw thrown;
    throw new SvcError("unavailable", "comparing the files takes too long");
  });
  const files: ShownFile[] = [];
  const counts = { "+": 0, "~": 0, "-": 0 };
  for (const file of all) {
    const change = changeOf(file);
    counts[change]++;
    budget.pathBytes -= Buffer.byteLength(file.path);
    if (budget.pathBytes >= 0) files.push({ change, path: file.path });
  }
  return {
    ...{ added: counts["+"], changed: counts["~"], removed: counts["-"] },
    ...{ files, left_out: all.length - files.length },
    ...(withText ? { diff: await describeAll(blobs, all, budget) } : {}),
  };
}

const changeOf = ({ before, after }: ChangedFile) =>
  before === undefined ? "+" : after === undefined ? "-" : "~";

async function describeAll(blobs: Blobs, all: readonly ChangedFile[], budget: Budget): Promise<string> {
  let text = "";
  for (const [at, file] of all.entries()) {
    const one = budget.isOver() ? undefined : await describeFile(blobs, file);
    if (one === undefined || Buffer.byteLength(one) > budget.textBytes) {
      const left = all.length - at;
      return `${text}[the differences of ${left} more ${left === 1 ? "file" : "files"} are left out, the first is ${file.path}]\n`;
    }
    budget.textBytes -= Buffer.byteLength(one);
    text += one;
  }
  return text;
}
