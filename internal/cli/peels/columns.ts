import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { ShownPeel } from "../../fleet/peels/mod.ts";
import { type ColumnKind, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { hexOf } from "../../wire/content-words.ts";
import { formatLabels } from "../enroll/label-change.ts";

/** A cell of a peel; empty when nothing is known. Times are RFC 3339, which the table shows as ages. */
type Cell = (peel: ShownPeel) => string;

const cells = {
  id: ({ id }) => id,
  peel_id: ({ peel_id }) => peel_id,
  enrollment_id: ({ enrollment_id }) => enrollment_id,
  state: ({ state }) => state,
  alive: ({ alive }) => (alive ? "alive" : "silent"),
  since: ({ alive, alive_since = "", silent_since = "" }) => (alive ? alive_since : silent_since),
  alive_since: ({ alive_since = "" }) => alive_since,
  silent_since: ({ silent_since = "" }) => silent_since,
  version: ({ version = "" }) => version,
  address: ({ address = "" }) => address,
  os: ({ os = "" }) => os,
  labels: ({ labels }) => (Object.keys(labels).length === 0 ? "" : formatLabels(labels)),
  creds_expires_at: ({ creds_expires_at = "" }) => creds_expires_at,
  settings_version: ({ settings_version }) => (settings_version === undefined ? "" : `${settings_version}`),
  environment: ({ environment = "" }) => environment,
  commit: ({ commit = "" }) => commit,
  snapshot: ({ snapshot }) => (snapshot === undefined ? "" : hexOf(snapshot)),
  last_run: ({ last_run }) => (last_run === undefined ? "" : `${last_run.status} ${last_run.trigger}`),
  last_run_trigger: ({ last_run }) => last_run?.trigger ?? "",
  last_run_at: ({ last_run }) => last_run?.run_at ?? "",
  last_run_age: ({ last_run }) => last_run?.run_at ?? "",
  last_job: ({ last_job }) =>
    last_job === undefined ? "" : `${last_job.function} ${last_job.outcome ?? ""}`.trimEnd(),
  last_job_outcome: ({ last_job }) => last_job?.outcome ?? "",
  last_job_id: ({ last_job }) => last_job?.jid ?? "",
  last_job_at: ({ last_job }) => last_job?.at ?? "",
  last_job_age: ({ last_job }) => last_job?.at ?? "",
} as const satisfies Record<string, Cell>;

/** A column of the list. */
export type Column = keyof typeof cells;
export const columns = Object.keys(cells) as Column[];
const kinds: Partial<Record<Column, ColumnKind>> = {
  ...{ id: "name", peel_id: "name", enrollment_id: "id", state: "state", alive: "state", since: "ago" },
  ...{ os: "text", labels: "text", last_run: "text", last_run_age: "ago" },
  ...{ last_job: "text", last_job_id: "id", last_job_age: "ago" },
};

/** As in every other table, the id of a peel is that with dots. */
const heads: Partial<Record<Column, string>> = { id: "PEEL ID", peel_id: "ENCODED ID" };
const headOf = (name: Column) => heads[name] ?? name.toUpperCase().replaceAll("_", " ");

/** The heads of the columns, with their kinds. */
export function headsOf(chosen: readonly Column[]): Record<string, ColumnKind> {
  return Object.fromEntries(chosen.map((name) => [headOf(name), kinds[name] ?? "word"] as const));
}

/** What fits into 80 characters. */
export const usualColumns: readonly Column[] = ["id", "alive", "since", "version", "os", "labels"];

/** Whether a list shows this column without being asked; the age of a state stands for its time. */
export const isUsual = (column: Column): boolean =>
  usualColumns.includes(column) || column === "alive_since" || column === "silent_since";

/** @throws SvcError `bad_request` naming the nearest column */
export function readColumn(text: string): Column {
  const found = columns.find((one) => one === text);
  if (found !== undefined) return found;
  throw new SvcError(
    "bad_request",
    `unknown column ${JSON.stringify(text.slice(0, 40))}${suggestion(text, columns)}; there are ${columns.join(", ")}`,
  );
}

/** Peels as a table of some columns. */
export function formatPeels(
  peels: readonly ShownPeel[],
  chosen: readonly Column[],
  style: TableStyle,
): string {
  return formatTable(
    headsOf(chosen),
    peels.map((peel) => rowOf(peel, chosen)),
    style,
  );
}

/** The cells of one row; a dash stands for what is not known. */
export function rowOf(peel: ShownPeel, chosen: readonly Column[]): string[] {
  return chosen.map((column) => cells[column](peel) || "-");
}

/** The columns of a spreadsheet: all but those that repeat another one for people. */
export const dataColumns: readonly Column[] = columns.filter(
  (name) => name !== "since" && name !== "last_job_age" && name !== "last_run_age",
);

/** Those of a table: it has no cell for what another one says with it, and people know no encoded ids. */
export const tableColumns: readonly Column[] = dataColumns.filter(
  (name) => name !== "last_run_trigger" && name !== "last_job_outcome" && name !== "peel_id",
);

/** Where a cell of a table has two values, the first of them: a program would have to split it. */
const first: Partial<Record<Column, Cell>> = {
  last_run: ({ last_run }) => last_run?.status ?? "",
  last_job: ({ last_job }) => last_job?.function ?? "",
};

/** The cells of one row as a spreadsheet has them: one value in each, and nothing for what is not known. */
export function csvRowOf(peel: ShownPeel, chosen: readonly Column[]): string[] {
  return chosen.map((column) => (first[column] ?? cells[column])(peel));
}

/** Sorts by a column, numbers in texts by their value; what is not known comes last, and equal ones stay in place. */
export function sortPeels(peels: readonly ShownPeel[], column: Column): ShownPeel[] {
  const { compare } = new Intl.Collator("en", { numeric: true });
  const keyOf = (peel: ShownPeel) => cells[column](peel);
  return peels
    .map((peel) => ({ peel, key: keyOf(peel) }))
    .sort((one, other) => {
      if ((one.key === "") !== (other.key === "")) return one.key === "" ? 1 : -1;
      return compare(one.key, other.key);
    })
    .map(({ peel }) => peel);
}
