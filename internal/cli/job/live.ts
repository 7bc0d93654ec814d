import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Progress } from "../../fleet/jobs/mod.ts";
import { textLines } from "../../program/answers/mod.ts";
import { visible } from "../../program/command-line/mod.ts";

/** Characters of a line that has not ended. */
const maxRest = 4_096;

/** What peels write, and how far they are, as lines for people. */
export interface Live {
  /** @returns the lines of the news, which may be none */
  take(news: Pick<Progress, "event" | "running" | "output">, targets: number): string[];
  /** Whether a peel has reported output. */
  readonly hasOutput: boolean;
}

/** Starts with nothing known. A line of one peel among several begins with its name. */
export function createLive(): Live {
  /** The begun line of each peel. */
  const rests = new Map<string, string>();
  const received = new Set<string>();
  return {
    get hasOutput() {
      return received.size > 0;
    },
    take({ event, running, output }, targets) {
      const named = (peel: string, lines: readonly string[]) =>
        targets === 1 ? [...lines] : lines.map((line) => `${displayPeelId(peel)}: ${line}`);
      if (output !== undefined) {
        const { peel, skipped } = output;
        received.add(peel);
        const left = skipped === 0 ? [] : [`(${skipped} characters left out)`];
        const text = (rests.get(peel) ?? "") + output.output;
        const end = text.lastIndexOf("\n") + 1;
        rests.set(peel, text.slice(end).slice(-maxRest));
        return named(peel, [...left, ...(end === 0 ? [] : textLines(text.slice(0, end)))]);
      }
      if (running !== undefined) {
        const { peel, done, total, failed, current } = running;
        const bad = failed === 0 ? "" : `, ${failed} failed`;
        return named(peel, [`${done}/${total} states${bad}: ${visible(current)}`]);
      }
      const rest = event?.return === undefined ? undefined : rests.get(event.peel);
      if (event === undefined || rest === undefined || rest === "") return [];
      rests.delete(event.peel);
      return named(event.peel, textLines(rest));
    },
  };
}
