import type { ListedPeel } from "../../api/mod.ts";
import type { Cell, CellOutcome } from "../../charts/mod.ts";

type Seen = Pick<ListedPeel, "id" | "alive"> & { last_run?: { status: string } | undefined };

/** What a sign of a host says, the first that is true of it. */
const kinds = [
  ["failed", "failed"],
  ["silent", "offline"],
  ["drifted", "changed"],
  ["stale", "timeout"],
  ["never ran states", "skipped"],
  ["described", "ok"],
] as const satisfies readonly (readonly [string, CellOutcome])[];
const order = new Map<string, number>(kinds.map(([word], at) => [word, at]));
const outcomes = new Map<string, CellOutcome>(kinds);

function wordOf({ alive, last_run: run }: Seen): string {
  if (!alive) return "silent";
  const status = run?.status ?? "never";
  return order.has(status) ? status : "never ran states";
}

/** The hosts of the grid, those that need a look first, and by id. */
export function cellsOf(peels: readonly Seen[]): Cell[] {
  return peels
    .map((peel) => {
      const word = wordOf(peel);
      return { id: peel.id, word, outcome: outcomes.get(word) ?? "skipped", to: `/peels/${peel.id}` };
    })
    .toSorted(
      (one, other) =>
        (order.get(one.word) ?? 0) - (order.get(other.word) ?? 0) || (one.id < other.id ? -1 : 1),
    );
}

/** How many there are of each kind that occurs, in the order of the grid. */
export function countCells(cells: readonly Cell[]): { word: string; outcome: CellOutcome; count: number }[] {
  return kinds.flatMap(([word, outcome]) => {
    const count = cells.filter((cell) => cell.word === word).length;
    return count === 0 ? [] : [{ word, outcome, count }];
  });
}
