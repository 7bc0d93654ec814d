import { type App, routes, useAnswer } from "../../api/mod.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { valueText } from "../../kit/value-text.ts";
import { outcomeOf, type ShownEntry } from "./entry.ts";

/** One entry of the audit in full. */
export function EntryPage({ app, seq }: { app: App; seq: string }) {
  const { value: entry, problem } = useAnswer(app, routes.getAudit, { seq });
  if (problem !== undefined && entry === undefined) {
    return (
      <Empty whole title={`Entry ${seq} cannot be shown`} command={`svc audit show ${seq}`}>
        {problem.message} <a href={hrefOf("/audit")}>All entries</a>
      </Empty>
    );
  }
  return (
    <Page
      title={`Entry ${seq}`}
      beside={entry !== undefined && <Status word={entry.outcome} outcome={outcomeOf(entry)} />}
      actions={
        <>
          {entry !== undefined && entry.seq > 1 && (
            <LinkButton to={`/audit/${entry.seq - 1}`}>Entry before</LinkButton>
          )}
          <LinkButton to="/audit">All entries</LinkButton>
        </>
      }
    >
      <Problem problem={problem} />
      {entry !== undefined && (
        <div class="grid">
          <Request entry={entry} now={app.now} />
          <Signature entry={entry} />
        </div>
      )}
    </Page>
  );
}

function Request({ entry, now }: { entry: ShownEntry } & Pick<App, "now">) {
  return (
    <Card id="request-head" title="Request" beside={<Time at={entry.at} now={now} />} body="facts">
      <Fact name="Operation" as="mono" value={entry.action} />
      <Fact name="Operator">
        <a href={hrefOf(`/audit?by=${encodeURIComponent(entry.operator)}`)}>{entry.operator}</a>
      </Fact>
      <Fact name="Via">{entry.via}</Fact>
      <Fact name="Key" as="mono" value={entry.key === "" ? "none signed it" : entry.key} />
      <Fact name="Reason">{entry.reason}</Fact>
      {Object.entries(entry.subjects).map(([name, value]) => (
        <Fact key={name} name={name} as="mono">
          {subjectOf(name, value)}
        </Fact>
      ))}
      <Fact name="Request ID" as="mono" value={entry.request_id === "" ? "none" : entry.request_id} />
      <Fact name="SHA-256" as="mono" value={entry.request_digest} />
    </Card>
  );
}

/** Something that an entry is about; `begun` is the entry whose end it is. */
function subjectOf(name: string, value: unknown) {
  if (name === "begun" && typeof value === "number") {
    return <a href={hrefOf(`/audit/${value}`)}>entry {value}</a>;
  }
  return <span class="lines">{valueText(value)}</span>;
}

function Signature({ entry }: { entry: ShownEntry }) {
  return (
    <Card id="signature-head" title="Signature of the master" body="facts">
      <Fact name="Signature">
        <Status
          word={entry.genuine ? "valid" : "not from a master of this fleet"}
          outcome={entry.genuine ? "ok" : "failed"}
        />
      </Fact>
      <Fact name="Master">{entry.master}</Fact>
      <Fact name="Its key" as="mono" value={entry.key_of_master} />
      <Fact name="To verify">
        <code class="command">svc audit verify</code>
      </Fact>
    </Card>
  );
}
