import { hexOf, shortSnapshot } from "../../../wire/content-words.ts";
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
        {shortSnapshot(commit ?? "") || "none"}
      </span>
    ),
    by: ({ commit }) => commit ?? "",
  },
  {
    id: "files",
    title: "Files",
    show: ({ snapshot }) => (
      <span class="mono" title={snapshot === undefined ? "" : hexOf(snapshot)}>
        {snapshot === undefined ? "none" : shortSnapshot(snapshot)}
      </span>
    ),
    by: ({ snapshot }) => (snapshot === undefined ? "" : hexOf(snapshot)),
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

/** How many peels are as described, by the files that they ran. */
export function GroupTable({ groups, leftOut }: { groups: readonly Group[]; leftOut: number }) {
  return (
    <section class="stack" aria-labelledby="groups-head">
      <h2 id="groups-head">By state files</h2>
      <Table
        label="Peels by state files"
        rows={groups}
        columns={columns}
        rowKey={({ environment, commit, snapshot }) => JSON.stringify([environment, commit, snapshot])}
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
