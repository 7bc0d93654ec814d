import { useMemo } from "preact/hooks";
import type { ListedPeel } from "../../api/mod.ts";
import { withFields } from "../../kit/address-field.ts";
import { Empty } from "../../kit/empty.tsx";
import type { Outcome } from "../../kit/outcome.ts";
import { hrefOf, type Place, type Router } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { numberColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { type By, groupings, groupPeels, type PeelGroup } from "./group-peels.ts";

interface Props {
  place: Place;
  peels: readonly ListedPeel[] | undefined;
}

/** By what an address sums up the peels. */
export function byOf({ query }: Pick<Place, "query">): By | undefined {
  const by = query.get("by");
  if (by === "system" || by === "version") return by;
  return by?.startsWith("label:") ? (by as By) : undefined;
}

/** Chooses by what the peels are summed up. */
export function GroupChoice({ place, peels = [], router }: Props & { router: Pick<Router, "go"> }) {
  const offered = useMemo(() => groupings(peels), [peels]);
  const chosen = byOf(place);
  const all = chosen === undefined || offered.includes(chosen) ? offered : [...offered, chosen];
  return (
    <>
      <label class="visually-hidden" for="peels-by">
        Sum up
      </label>
      <select
        id="peels-by"
        class="select choice-width"
        value={chosen ?? ""}
        onChange={({ currentTarget: { value } }) =>
          router.go(withFields(place, { by: value }), { replace: true })
        }
      >
        <option value="">Each peel</option>
        {all.map((by) => (
          <option key={by} value={by}>
            By {wordsOf(by)}
          </option>
        ))}
      </select>
    </>
  );
}

/** The peels in groups, each with its sums; a group leads to its peels. */
export function PeelGroups({ place, peels = [], by, target }: Props & { by: By; target: string }) {
  const groups = useMemo(() => groupPeels(peels, by, target), [peels, by, target]);
  const columns = useMemo(() => columnsOf(place, by), [place, by]);
  return (
    <Table
      label={`Peels by ${wordsOf(by)}`}
      rows={groups}
      rowKey={({ value }) => value}
      columns={columns}
      empty={
        <Empty title="No peel matches">
          Peels that have joined are searched, also those that are silent.
        </Empty>
      }
    />
  );
}

const wordsOf = (by: By): string => (by.startsWith("label:") ? `label ${by.slice("label:".length)}` : by);

const columnsOf = (place: Place, by: By): readonly Column<PeelGroup>[] => [
  {
    id: "value",
    title: by.startsWith("label:") ? by.slice("label:".length) : by === "system" ? "System" : "Version",
    show: ({ value, target }) => {
      if (value === "") return <span class="muted">none</span>;
      if (target === undefined) return value;
      return <a href={hrefOf(withFields(place, { by: "", target }))}>{value}</a>;
    },
    by: ({ value }) => value,
  },
  numberColumn("peels", "Peels", ({ peels }) => peels),
  sumColumn("silent", "offline"),
  sumColumn("failed", "failed"),
  sumColumn("drifted", "changed"),
];

/** A sum that is worth a look where it is not zero. */
const sumColumn = (id: "silent" | "failed" | "drifted", outcome: Outcome): Column<PeelGroup> => ({
  id,
  title: `${id[0]?.toUpperCase()}${id.slice(1)}`,
  align: "end",
  show: ({ [id]: count }) =>
    count === 0 ? (
      <span class="muted">0</span>
    ) : (
      <Status word={count.toLocaleString("en")} outcome={outcome} />
    ),
  by: ({ [id]: count }) => count,
});
