import { type Signal, useSignal } from "@preact/signals";
import { Button } from "../button.tsx";
import type { Column } from "./column.ts";

/** Which rows of a table are chosen, by their ids. */
export interface Choice {
  chosen: Signal<ReadonlySet<string>>;
  has(id: string): boolean;
  /** @param id nothing happens without one */
  toggle(id: string | undefined): void;
  /** Those that were dealt with are chosen no longer. */
  drop(ids: readonly string[]): void;
}

/** Rows that a person chooses, to do something with exactly these. */
export function useChoice(): Choice {
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  return {
    chosen,
    has: (id) => chosen.value.has(id),
    toggle(id) {
      if (id === undefined) return;
      const next = new Set(chosen.value);
      if (!next.delete(id)) next.add(id);
      chosen.value = next;
    },
    drop(ids) {
      const gone = new Set(ids);
      chosen.value = new Set([...chosen.value].filter((id) => !gone.has(id)));
    },
  };
}

/** The column in which rows are chosen. */
export const choiceColumn = <Row,>(
  { has, toggle }: Pick<Choice, "has" | "toggle">,
  { idOf, nameOf }: { idOf(row: Row): string; nameOf(row: Row): string },
): Column<Row> => ({
  id: "choice",
  title: "Chosen",
  bare: true,
  show: (row) => (
    <input
      type="checkbox"
      name="chosen"
      data-id={idOf(row)}
      aria-label={`Choose ${nameOf(row)}`}
      checked={has(idOf(row))}
      onChange={() => toggle(idOf(row))}
    />
  ),
});

/** The row that has the focus. */
export const focusedId = (): string | undefined =>
  document.activeElement?.closest("tr")?.querySelector<HTMLElement>("[data-id]")?.dataset.id;

/** Chooses all rows, or none. @param props.picked how many of them are chosen */
export function ChooseAll(props: { ids: readonly string[]; picked: number; choice: Pick<Choice, "chosen"> }) {
  const { ids, picked, choice } = props;
  if (ids.length === 0) return null;
  const isAll = picked === ids.length;
  return (
    <Button
      onClick={() => {
        choice.chosen.value = new Set(isAll ? [] : ids);
      }}
    >
      {isAll ? "Choose none" : `Choose all ${ids.length.toLocaleString("en")}`}
    </Button>
  );
}
