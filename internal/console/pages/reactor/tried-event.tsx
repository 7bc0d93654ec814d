import type { Plain } from "../../../base/msgpack.ts";
import { plainLines } from "../../../program/answers/mod.ts";
import type { routes } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table/table.tsx";

/** The answer of a master about an event that was tried. */
export type Reported = NonNullable<(typeof routes.testEvent)["types"]>["answer"];

/** For each rule whether it would fire and why, and what it would do. */
export function TriedEvent({ reported: { rules, dropped, master } }: { reported: Reported }) {
  const firing = rules.filter(({ actions }) => actions.length > 0);
  return (
    <>
      {dropped !== undefined && <p class="notice">{`The event would be dropped: ${dropped}`}</p>}
      <Table
        label="What each rule would do"
        rows={rules}
        rowKey={({ rule }) => rule}
        short
        columns={[
          { id: "rule", title: "Rule", show: ({ rule }) => <span class="mono">{rule}</span> },
          {
            id: "fires",
            title: "Fires",
            show: ({ fires }) => <Status word={fires ? "yes" : "no"} outcome={fires ? "ok" : "skipped"} />,
          },
          { id: "why", title: "Why", show: ({ why }) => why },
        ]}
        empty={<Empty title={`${master} has no rules`} command="svc reactor status" />}
      />
      {firing.map(({ rule, actions }) => (
        <Card key={rule} title={`${rule} does`}>
          <pre class="body mono wrap">{plainLines(actions as Plain).join("\n")}</pre>
        </Card>
      ))}
    </>
  );
}
