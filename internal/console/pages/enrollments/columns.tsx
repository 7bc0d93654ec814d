import type { App } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import { type Listed, trustTexts } from "./listed.ts";

/** The columns of the list; of those that wait, both fingerprints stand side by side. */
export function columnsOf(options: {
  app: Pick<App, "now">;
  pending: boolean;
  /** Which are chosen; absent where nothing can be decided. */
  selection?: { has(id: string): boolean; toggle(id: string): void };
}): readonly Column<Listed>[] {
  const { app, pending, selection } = options;
  return [
    ...(selection === undefined ? [] : [choice(selection)]),
    { id: "peel", title: "Peel", show: ({ peel }) => peel, by: ({ peel }) => peel },
    ...(pending
      ? []
      : [
          {
            id: "state",
            title: "State",
            show: ({ state }: Listed) => <Status word={state} />,
            by: ({ state }: Listed) => state,
          },
        ]),
    {
      id: "fingerprint",
      title: "Fingerprint of its key",
      show: ({ fingerprint }) => <span class="mono">{fingerprint}</span>,
    },
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
    {
      id: "hostname",
      title: "Host name",
      wide: true,
      show: ({ hostname }) => hostname,
      by: ({ hostname }) => hostname,
    },
    {
      id: "address",
      title: "Address",
      wide: true,
      show: ({ address }) => <span class="mono">{address}</span>,
      by: ({ address }) => address ?? "",
    },
    { id: "evidence", title: "Proved", wide: true, show: ({ evidence }) => evidence ?? "" },
    {
      id: "at",
      title: "Asked",
      wide: true,
      show: ({ created_at: at }) => <Time at={at} now={app.now} />,
      by: ({ created_at: at }) => at,
    },
  ];
}

/** Enough of a pin to tell it from another one at a glance; its title and its own page have all of it. */
const shortPin = (pin: string): string => pin.replace(/^sha256:/, "").slice(0, 12);

const choice = ({ has, toggle }: { has(id: string): boolean; toggle(id: string): void }): Column<Listed> => ({
  id: "choice",
  title: "Chosen",
  bare: true,
  show: ({ id, peel }) => (
    <input
      type="checkbox"
      data-id={id}
      aria-label={`Choose ${peel}`}
      checked={has(id)}
      onChange={() => toggle(id)}
    />
  ),
});
