import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import { ChainCard } from "./chain-card.tsx";
import { ChainState } from "./chain-state.tsx";
import { looksOf, subjectText } from "./entry.ts";
import { EntrySearch } from "./entry-search.tsx";
import { searchOf } from "./search.ts";

/** Entries of the audit, newest first. The address has the search, so that it can be sent to others. */
export function EntryList({ app, place: { query } }: { app: App; place: Place }) {
  const { value, problem } = useQuery(app, `${query}`, (signal) =>
    app.client.page(routes.listAudit, searchOf(query, app.clock.now()), signal),
  );
  const addressOf = (changes: Readonly<Record<string, string>>) => {
    const next = new URLSearchParams(query);
    // Another search begins at its newest entry.
    next.delete("before");
    for (const [name, text] of Object.entries(changes)) {
      if (text === "") next.delete(name);
      else next.set(name, text);
    }
    return next.size === 0 ? "/audit" : `/audit?${next}`;
  };
  // Then a master tells more than the entries that are shown do.
  const mayVerify = app.session.may("audit", "verify");
  const filtered = ["by", "action", "peel", "outcome", "since"].some((name) => query.has(name));
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Audit</h1>
        <span class="muted number" role="status">
          {value === undefined ? "Reading …" : `${value.items.length.toLocaleString("en")} shown`}
        </span>
        <div class="actions">
          {query.has("before") && (
            <a class="button" href={hrefOf(addressOf({}))}>
              Newest
            </a>
          )}
          {value?.next !== undefined && (
            <a class="button" href={hrefOf(addressOf({ before: value.next }))}>
              Earlier entries
            </a>
          )}
        </div>
      </header>
      <EntrySearch
        keys={app.keys}
        query={query}
        onChange={(name, text) => app.router.go(addressOf({ [name]: text }), { replace: true })}
      />
      <Problem problem={problem} />
      {value !== undefined && value.items.length > 0 && (
        <ChainState entries={value.items} filtered={filtered} quiet={mayVerify} />
      )}
      {mayVerify && <ChainCard app={app} />}
      {value !== undefined && (
        <Table
          label="Entries of the audit"
          rows={value.items}
          rowKey={({ seq }) => String(seq)}
          to={({ seq }) => `/audit/${seq}`}
          go={app.router.go}
          keys={app.keys}
          columns={[
            { id: "seq", title: "Number", show: ({ seq }) => <span class="number">{seq}</span> },
            { id: "at", title: "When", show: ({ at }) => <Time at={at} now={app.now} /> },
            { id: "operator", title: "Operator", show: ({ operator }) => operator },
            { id: "action", title: "Operation", show: ({ action }) => <span class="mono">{action}</span> },
            {
              id: "outcome",
              title: "Outcome",
              show: (entry) => <Status word={entry.outcome} outcome={looksOf(entry)} />,
            },
            { id: "via", title: "Via", wide: true, show: ({ via }) => via },
            {
              id: "subjects",
              title: "About",
              wide: true,
              show: (entry) => (
                <span class="mono" title={subjectText(entry)}>
                  {subjectText(entry)}
                </span>
              ),
            },
            { id: "reason", title: "Reason", wide: true, show: ({ reason }) => reason ?? "" },
          ]}
          empty={
            value.next === undefined ? (
              <Empty
                title={filtered ? "No entry matches" : "No entries"}
                command="svc audit list --since 24h"
              >
                Masters write an entry for each decision, and for each request that they refuse.
              </Empty>
            ) : (
              <Empty title="No entry matches here">
                A page looks at a limited number of entries: go on with Earlier entries.
              </Empty>
            )
          }
        />
      )}
    </div>
  );
}
