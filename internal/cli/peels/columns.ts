import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { ShownPeel } from "../../fleet/peels/mod.ts";
import { formatLabels } from "../enroll/label-change.ts";
import { formatAge } from "./age.ts";

/** A cell of a peel; empty when nothing is known. @param now milliseconds since the Unix epoch */
type Cell = (peel: ShownPeel, now: number) => string;

const cells = {
  id: ({ id }) => id,
  peel_id: ({ peel_id }) => peel_id,
  enrollment_id: ({ enrollment_id }) => enrollment_id,
  state: ({ state }) => state,
  alive: ({ alive }) => (alive ? "alive" : "silent"),
  since: (peel, now) => {
    const since = peel.alive ? peel.alive_since : peel.silent_since;
    return since === undefined ? "" : formatAge(now - Date.parse(since));
  },
  alive_since: ({ alive_since = "" }) => alive_since,
  silent_since: ({ silent_since = "" }) => silent_since,
  version: ({ version = "" }) => version,
  address: ({ address = "" }) => address,
  os: ({ os = "" }) => os,
  labels: ({ labels }) => (Object.keys(labels).length === 0 ? "" : formatLabels(labels)),
  creds_expires_at: ({ creds_expires_at = "" }) => creds_expires_at,
} as const satisfies Record<string, Cell>;

/** A column of the list. */
export type Column = keyof typeof cells;
export const columns = Object.keys(cells) as Column[];
/** What fits into 80 characters. */
export const usualColumns: readonly Column[] = ["id", "alive", "since", "version", "os", "labels"];

/** @throws SvcError `bad_request` naming the nearest column */
export function readColumn(text: string): Column {
  const found = columns.find((one) => one === text);
  if (found !== undefined) return found;
  throw new SvcError(
    "bad_request",
    `unknown column ${JSON.stringify(text.slice(0, 40))}${suggestion(text, columns)}; there are ${columns.join(", ")}`,
  );
}

/** The cells of one row; a dash stands for what is not known. */
export function rowOf(peel: ShownPeel, chosen: readonly Column[], now: number): string[] {
  return chosen.map((column) => (cells[column] as Cell)(peel, now) || "-");
}

/** Sorts by a column, numbers in texts by their value; what is not known comes last, and equal ones stay in place. */
export function sortPeels(peels: readonly ShownPeel[], column: Column): ShownPeel[] {
  const { compare } = new Intl.Collator("en", { numeric: true });
  const keyOf = (peel: ShownPeel) =>
    column === "since" ? (peel.alive_since ?? peel.silent_since ?? "") : (cells[column] as Cell)(peel, 0);
  return peels
    .map((peel) => ({ peel, key: keyOf(peel) }))
    .sort((one, other) => {
      if ((one.key === "") !== (other.key === "")) return one.key === "" ? 1 : -1;
      return compare(one.key, other.key);
    })
    .map(({ peel }) => peel);
}
