import type { App } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import { type Choice, choiceColumn } from "../../kit/table/choice.tsx";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn, statusColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { type Listed, proofOf, trustTexts } from "./listed.ts";

/** The columns of the list; of those that wait, both fingerprints stand side by side. */
export function columnsOf(options: {
  app: Pick<App, "now">;
  pending: boolean;
  /** Which are chosen; absent where nothing can be decided. */
  selection?: Pick<Choice, "has" | "toggle">;
}): readonly Column<Listed>[] {
  const { app, pending, selection } = options;
  return [
    ...(selection === undefined
      ? []
      : [choiceColumn(selection, { idOf: ({ id }: Listed) => id, nameOf: ({ peel }) => peel })]),
    {
      ...textColumn("peel", "Peel", ({ peel }: Listed) => peel),
      show: ({ peel, contested }) => (
        <>
          {peel} {contested === true && <Status word="several hosts" outcome="failed" />}
        </>
      ),
    },
    ...(pending ? [] : [statusColumn("state", "State", ({ state }: Listed) => state)]),
    monoColumn("fingerprint", "Fingerprint of its key", (one) => one.fingerprint, { unsorted: true }),
    {
      id: "root",
      title: "CA root it trusted",
      show: ({ trust, trusted_ca_spki: pin }) => (
        <>
          <Status {...trustTexts[trust]} />{" "}
          {pin !== undefined && (
            <span class="mono muted" title={pin}>
              {shortPin(pin)}
            </span>
          )}
        </>
      ),
      by: ({ trust }) => trust,
    },
    textColumn("hostname", "Host name", ({ hostname }) => hostname, { wide: true }),
    monoColumn("address", "Address", ({ address }) => address, { wide: true }),
    textColumn("evidence", "Proved", proofOf, { wide: true, unsorted: true }),
    timeColumn(app.now, "at", "Asked", ({ created_at: at }) => at, { wide: true }),
  ];
}

/** Enough of a pin to tell it from another one at a glance; its title and its own page have all of it. */
const shortPin = (pin: string): string => pin.replace(/^sha256:/, "").slice(0, 12);
