import { contentCell } from "../../../wire/content-words.ts";
import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, monoColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { type FileRow, rowsOf } from "./file-rows.ts";
import { fileChanges } from "./files-path.ts";

/** The state files in force, those that masters refuse, and hints: each problem with file, line, column and reason. */
export function FileList({ app }: { app: App }) {
  const { value, problem } = useAnswer(app, routes.listFiles, {}, fileChanges);
  return (
    <Page
      title="State files"
      up={{ to: "/states", words: "States" }}
      beside={value !== undefined && <Publisher name={value.publisher} />}
    >
      <Problem problem={problem} />
      {value === undefined && problem === undefined && <p class="muted">Reading the state files</p>}
      {value !== undefined && (
        <>
          {value.report === undefined && (
            <p class="notice" role="alert">
              The master that publishes does not answer, so nobody knows what is refused.
            </p>
          )}
          <Rows
            title="Refused"
            rows={rowsOf(value.report?.refused ?? [], "problems")}
            more={value.report?.refused_left_out}
            empty="Everything that was pushed and saved comes into force."
          />
          <Rows
            title="Hints"
            rows={rowsOf(value.report?.hints ?? [], "hints")}
            empty="states.check: compile names here what breaks for single peels."
          />
          <section class="stack" aria-labelledby="files-in-force">
            <h2 id="files-in-force">In force</h2>
            <Table
              label="State files in force"
              rows={value.environments}
              rowKey={({ content }) => content.environment}
              keys={app.keys}
              columns={inForceColumns(app)}
            />
          </section>
        </>
      )}
    </Page>
  );
}

const Publisher = ({ name }: { name: string | undefined }) => (
  <span class="muted">{name === undefined ? "no master publishes" : `published by ${name}`}</span>
);

type InForce = NonNullable<(typeof routes.listFiles)["types"]>["answer"]["environments"][number];

const inForceColumns = ({ now }: Pick<App, "now">): readonly Column<InForce>[] => [
  monoColumn("files", "Files", ({ content }) => contentCell(content)),
  timeColumn(now, "since", "In force since", ({ since }) => since),
];

const columns: readonly Column<FileRow>[] = [
  monoColumn("of", "Environment", ({ of }) => of),
  monoColumn("at", "At", ({ at }) => at),
  longColumn("reason", "Reason", ({ reason }) => reason, { unsorted: true }),
];

/** One row for each problem. */
function Rows(props: { title: string; rows: readonly FileRow[]; more?: number | undefined; empty: string }) {
  const { title, rows, more = 0, empty } = props;
  const id = `files-${title.toLowerCase()}`;
  return (
    <section class="stack" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {rows.length === 0 ? (
        <div class="card">
          <Empty title={title === "Refused" ? "Nothing is refused" : "No hints"}>{empty}</Empty>
        </div>
      ) : (
        <Table label={title} rows={rows} rowKey={(row) => JSON.stringify(row)} columns={columns} short />
      )}
      {more > 0 && <p class="muted small">{more.toLocaleString("en")} more are not listed.</p>}
    </section>
  );
}
