import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { looksOf } from "./entry.ts";

/** One entry of the audit in full. */
export function EntryPage({ app, seq }: { app: App; seq: string }) {
  const { value: entry, problem } = useQuery(app, seq, (signal) =>
    app.client.call(routes.getAudit, { seq }, signal),
  );
  if (problem !== undefined && entry === undefined) {
    return (
      <Empty whole title={`Entry ${seq} cannot be shown`} command={`svc audit show ${seq}`}>
        {problem.message} <a href={hrefOf("/audit")}>All entries</a>
      </Empty>
    );
  }
  return (
    <div class="page">
      <header class="page-head">
        <h1>Entry {seq}</h1>
        {entry !== undefined && <Status word={entry.outcome} outcome={looksOf(entry)} />}
        <div class="actions">
          {entry !== undefined && entry.seq > 1 && (
            <a class="button" href={hrefOf(`/audit/${entry.seq - 1}`)}>
              Entry before
            </a>
          )}
          <a class="button" href={hrefOf("/audit")}>
            All entries
          </a>
        </div>
      </header>
      <Problem problem={problem} />
      {entry !== undefined && (
        <div class="grid">
          <section class="card" aria-labelledby="request-head">
            <header>
              <h2 id="request-head">Request</h2>
              <Time at={entry.at} now={app.now} />
            </header>
            <dl class="body facts">
              <dt>Operation</dt>
              <dd class="mono">{entry.action}</dd>
              <dt>Operator</dt>
              <dd>
                <a href={hrefOf(`/audit?by=${encodeURIComponent(entry.operator)}`)}>{entry.operator}</a>
              </dd>
              <dt>Via</dt>
              <dd>{entry.via}</dd>
              <dt>Key</dt>
              <dd class="mono">{entry.key === "" ? "none signed it" : entry.key}</dd>
              {entry.reason !== undefined && (
                <>
                  <dt>Reason</dt>
                  <dd>{entry.reason}</dd>
                </>
              )}
              {Object.entries(entry.subjects).map(([name, value]) => (
                <SubjectRow key={name} name={name} value={value} />
              ))}
              <dt>Request ID</dt>
              <dd class="mono">{entry.request_id === "" ? "none" : entry.request_id}</dd>
              <dt>SHA-256</dt>
              <dd class="mono">{entry.request_digest}</dd>
            </dl>
          </section>
          <section class="card" aria-labelledby="signature-head">
            <header>
              <h2 id="signature-head">Signature of the master</h2>
            </header>
            <dl class="body facts">
              <dt>Signature</dt>
              <dd>
                <Status
                  word={entry.genuine ? "valid" : "not from a master of this fleet"}
                  outcome={entry.genuine ? "ok" : "failed"}
                />
              </dd>
              <dt>Master</dt>
              <dd>{entry.master}</dd>
              <dt>Its key</dt>
              <dd class="mono">{entry.key_of_master}</dd>
              <dt>To verify</dt>
              <dd>
                <code class="command">svc audit verify</code>
              </dd>
            </dl>
          </section>
        </div>
      )}
    </div>
  );
}

/** Something that an entry is about; `begun` is the entry whose end it is. */
function SubjectRow({ name, value }: { name: string; value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <>
      <dt>{name}</dt>
      <dd class="mono">
        {name === "begun" && typeof value === "number" ? (
          <a href={hrefOf(`/audit/${value}`)}>entry {value}</a>
        ) : (
          text
        )}
      </dd>
    </>
  );
}
