import type { FoundChange } from "./compare-orders.ts";
import type { PlannedState } from "./order.ts";

// States know the lines of rendered texts. What people look for is a line of the file.

/** The line of a file that declares a state: where its id is written, or else where it is rendered. */
export function lineOfState(text: string, { id, line }: Pick<PlannedState, "id" | "line">): number {
  const lines = text.split("\n");
  const found = lines.findIndex((each) => isIdLine(each, id));
  return found >= 0 ? found + 1 : Math.min(Math.max(1, line), lines.length);
}

const isIdLine = (line: string, id: string): boolean =>
  [`${id}:`, `'${id}':`, `"${id}":`].some((start) => line.startsWith(start));

/**
 * The first line that differs: of the state that the change is about where it has one, else of the file. It is a line of
 * the new text, or of the old one where the new text has nothing there.
 */
export function lineThatDiffers(from: string, to: string, found?: FoundChange): number {
  const [old, now] = [from.split("\n"), to.split("\n")];
  const isGone = to === "" || found?.change.op === "-";
  const differing = differingLines(isGone ? now : old, isGone ? old : now);
  const state = found?.after ?? found?.before;
  if (state !== undefined) {
    const lines = isGone ? old : now;
    const begins = lines.findIndex((each) => isIdLine(each, state.id));
    if (begins >= 0) {
      const next = lines.findIndex((each, at) => at > begins && /^[^\s#{]/.test(each));
      const end = next < 0 ? lines.length : next;
      const own = differing.find((at) => at >= begins && at < end);
      if (own !== undefined) return own + 1;
    }
  }
  return (differing[0] ?? 0) + 1;
}

/** More are not compared: then only the part between the first and the last difference is known. */
const maxCells = 4_000_000;

/** The positions of lines in the second list that are not in a maxLength common part. */
function differingLines(from: readonly string[], to: readonly string[]): number[] {
  let start = 0;
  while (start < to.length && start < from.length && from[start] === to[start]) start++;
  let [endFrom, endTo] = [from.length, to.length];
  while (endFrom > start && endTo > start && from[endFrom - 1] === to[endTo - 1]) {
    endFrom--;
    endTo--;
  }
  const [a, b] = [from.slice(start, endFrom), to.slice(start, endTo)];
  // Something was removed, and nothing is in its place.
  if (b.length === 0) return [Math.min(start, Math.max(0, to.length - 1))];
  if (a.length * b.length > maxCells) return b.map((_, at) => start + at);
  const common = commonTable(a, b);
  const width = b.length + 1;
  const found: number[] = [];
  let [i, j] = [0, 0];
  while (j < b.length) {
    if (i < a.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)) i++;
    else found.push(start + j++);
  }
  return found.length > 0 ? found : [start];
}

function commonTable(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  return table;
}
