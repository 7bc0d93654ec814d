import type { Outcome } from "../../kit/outcome.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";

/** How an operator or a token looks by its state. */
const standings: Readonly<Record<string, Outcome>> = {
  active: "ok",
  live: "ok",
  disabled: "skipped",
  expired: "timeout",
  orphaned: "timeout",
  revoked: "failed",
  refused: "failed",
};

/** An operator or a token by its state. */
export const Standing = ({ state }: { state: string }) => (
  <Status word={state} outcome={standings[state] ?? "skipped"} />
);

/** A column of them. */
export const standingColumn = <Row,>(state: (row: Row) => string): Column<Row> => ({
  ...{ id: "state", title: "State", by: state },
  show: (row) => <Standing state={state(row)} />,
});
