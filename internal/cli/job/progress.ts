import type { Clock, Timer } from "../../base/clock.ts";
import type { Output } from "../../program/command-line/mod.ts";
import { type Counts, countWords, total } from "./counts.ts";

/** Ten times a second is as often as an eye follows. */
const paintEveryMs = 100;
/** Without news the line is written again each second, so that its seconds advance. */
const tickMs = 1_000;
const widestBar = 30;
const narrowestBar = 8;
const usualColumns = 80;

/** One line on a terminal that tells how far a job is. */
export interface Progress {
  /** @param note how far the peels themselves are */
  update(counts: Counts, note?: string): void;
  /** Writes lines that stay, above the line; also where nothing else is shown. */
  write(lines: readonly string[]): void;
  /** Takes the line away. */
  end(): void;
}

/**
 * Formats the line: a bar, how many of all have ended, the counts by outcome, the time so far, and how far
 * the peels are. It is shorter than the terminal is wide: first the bar gives way, then the end of the line.
 *
 * @param columns width of the terminal in cells
 */
export function formatProgress(
  counts: Counts,
  { columns, elapsedMs, note = "" }: { columns: number; elapsedMs: number; note?: string },
): string {
  const all = total(counts);
  const ended = all - (counts.pending ?? 0);
  const seconds = `${Math.floor(elapsedMs / 1000)}s`;
  const words = [`${ended}/${all}`, ...countWords(counts), seconds, ...(note === "" ? [] : [note])].join(
    "  ",
  );
  // A line that fills the last column makes some terminals wrap to the next line.
  const room = Math.max(0, columns - 1);
  // A third of the width at most: the bar keeps its length while the words grow.
  const cells = Math.min(widestBar, Math.floor(columns / 3), room - words.length - 4);
  if (cells < narrowestBar) return words.slice(0, room);
  const full = all === 0 ? 0 : Math.floor((cells * ended) / all);
  return `[${"#".repeat(full)}${".".repeat(cells - full)}]  ${words}`;
}

/** Shows progress on a terminal, rewritten in place; on anything else it shows nothing. */
export function startProgress(
  output: Output,
  clock: Clock,
  env: Readonly<Record<string, string | undefined>>,
): Progress {
  const writeLines = (lines: readonly string[]) => output.write(lines.map((line) => `${line}\n`).join(""));
  if (output.isTTY !== true || [undefined, "", "dumb"].includes(env.TERM)) {
    return { update: () => {}, write: writeLines, end: () => {} };
  }
  const started = clock.monotonic();
  let counts: Counts | undefined;
  let note = "";
  let painted = Number.NEGATIVE_INFINITY;
  let later: Timer | undefined;
  const paint = () => {
    later?.cancel();
    later = undefined;
    if (counts === undefined) return;
    painted = clock.monotonic();
    const columns = output.columns ?? usualColumns;
    output.write(`\r${formatProgress(counts, { columns, elapsedMs: painted - started, note })}\u001b[K`);
  };
  const ticking = clock.every(tickMs, paint);
  return {
    update(news, newNote = "") {
      counts = news;
      note = newNote;
      const waitMs = painted + paintEveryMs - clock.monotonic();
      if (waitMs <= 0) paint();
      else later ??= clock.after(waitMs, paint);
    },
    write(lines) {
      if (lines.length === 0) return;
      if (counts !== undefined) output.write("\r\u001b[K");
      writeLines(lines);
      paint();
    },
    end() {
      ticking.cancel();
      later?.cancel();
      if (counts !== undefined) output.write("\r\u001b[K");
      counts = undefined;
    },
  };
}
