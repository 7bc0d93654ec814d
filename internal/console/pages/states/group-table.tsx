import type { routes } from "../../api/mod.ts";
import { outcomeOf } from "../../kit/outcome.ts";
import { Status } from "../../kit/status.tsx";
import { type Column, Table } from "../../kit/table/table.tsx";

type Group = NonNullable<NonNullable<(typeof routes.countStates)["types"]>["answer"]>["groups"][number];

const words = ["described", "drifted", "failed", "stale", "never"] as const;

const columns: Column<Group>[] = [
  {
    id: "environment",
    title: "Environment",
    show: ({ environment }) => environment || "none",
    by: ({ environment }) => environment ?? "",
  },
  {
    id: "commit",
    title: "Commit",
    show: ({ commit }) => (
      <span class="mono" title={commit ?? ""}>
        {commit?.slice(0, 12) || "none"}
      </span>
    ),
    by: ({ commit }) => commit ?? "",
  },
  ...words.map(
    (word): Column<Group> => ({
      id: word,
      title: `${word[0]?.toUpperCase()}${word.slice(1)}`,
      align: "end",
      ...(word === "stale" || word === "never" ? { wide: true as const } : {}),
      show: (group) =>
        group[word] === 0 ? (
          <span class="muted">0</span>
        ) : (
          <Status word={group[word].toLocaleString("en")} outcome={outcomeOf(word)} />
        ),
      by: (group) => group[word],
    }),
  ),
];

/** How many peels of each environment and commit are as described. */
export function GroupTable({ groups, leftOut }: { groups: readonly Group[]; leftOut: number }) {
  return (
    <section class="stack" aria-labelledby="groups-head">
      <h2 id="groups-head">By environment and commit</h2>
      <Table
        label="Peels by environment and commit"
        rows={groups}
        columns={columns}
        rowKey={({ environment, commit }) => JSON.stringify([environment, commit])}
        short
      />
      {leftOut > 0 && (
        <p class="muted small">
          {leftOut.toLocaleString("en")} smaller groups are counted above and not listed.
        </p>
      )}
    </section>
  );
}
