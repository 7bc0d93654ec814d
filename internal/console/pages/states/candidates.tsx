import { type App, routes, useAnswer } from "../../api/mod.ts";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, monoColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";

type Answer = NonNullable<(typeof routes.listReleases)["types"]>["answer"];
type Candidate = { environment: string } & NonNullable<Answer["environments"][number]["candidate"]>;

const changes = ["svc/states/", "svc/compliance/"];

/** State files that masters hold back until an operator releases them; nothing where nothing waits. */
export function Candidates({ app }: { app: App }) {
  const { value } = useAnswer(app, routes.listReleases, {}, changes);
  const rows = (value?.environments ?? []).flatMap(({ environment, candidate }) =>
    candidate === undefined ? [] : [{ environment, ...candidate }],
  );
  if (rows.length === 0) return null;
  return (
    <section class="stack" aria-labelledby="candidates-head">
      <h2 id="candidates-head">Waiting for a release</h2>
      <Table
        label="State files that wait for a release"
        rows={rows}
        rowKey={({ environment }) => environment}
        short
        columns={columnsOf(app)}
      />
    </section>
  );
}

/** What differs from the files in force. */
function differenceOf({ changes: found }: Candidate): string {
  if (found === undefined) return "";
  return `${found.added} added, ${found.changed} changed, ${found.removed} removed`;
}

const columnsOf = ({ now }: Pick<App, "now">): readonly Column<Candidate>[] => [
  textColumn("environment", "Environment", ({ environment }) => environment),
  monoColumn("commit", "Commit", ({ content }) => content.commit.slice(0, 12)),
  longColumn("changes", "Files", differenceOf, { unsorted: true }),
  timeColumn(now, "since", "Since", ({ since }) => since),
];
