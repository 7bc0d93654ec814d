import type { App } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table/table.tsx";
import { Since } from "../../kit/time.tsx";
import type { JudgedMasters } from "./judge-masters.ts";

/** The masters, those that need a look first: how each is, and what it does alone. */
export function Masters({ app, judged }: { app: App; judged: JudgedMasters }) {
  const { masters, lost } = judged;
  return (
    <Card id="masters-head" title="Masters">
      {lost.length > 0 && (
        <p class="body problem" role="alert">
          {lost.map(({ lease, holder }) => `${holder} holds ${lease} and is not among them.`).join(" ")}{" "}
          Another master takes over within 20 s.
        </p>
      )}
      <Table
        label="Masters"
        short
        rows={masters}
        rowKey={({ name }) => name}
        columns={[
          {
            id: "name",
            title: "Master",
            show: ({ name, answers }) => (
              <>
                {name}
                {answers && <span class="muted"> (answers)</span>}
              </>
            ),
          },
          {
            id: "state",
            title: "State",
            show: ({ word, outcome, reason, next }) => (
              <span title={reason}>
                <Status word={word} outcome={outcome} />
                {reason !== undefined && <span class="muted"> {reason}</span>}
                {next !== undefined && <span> Next: {next}</span>}
              </span>
            ),
          },
          {
            id: "duties",
            title: "Duties",
            show: ({ duties }) =>
              duties.length === 0 ? <span class="muted">holds nothing</span> : duties.join(", "),
          },
          { id: "version", title: "Version", wide: true, show: ({ version }) => version },
          {
            id: "since",
            title: "Runs for",
            wide: true,
            show: ({ since }) => <Since at={since} now={app.now} />,
          },
        ]}
      />
    </Card>
  );
}
