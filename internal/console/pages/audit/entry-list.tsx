import { useMemo } from "preact/hooks";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { withFields } from "../../kit/address-field.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import type { Place } from "../../kit/router.ts";
import { ChainCard } from "./chain-card.tsx";
import { ChainState } from "./chain-state.tsx";
import { withoutBeginnings } from "./entry.ts";
import { entryColumns } from "./entry-columns.tsx";
import { EntrySearch } from "./entry-search.tsx";
import { searchOf } from "./search.ts";

/** Entries of the audit, newest first. The address has the search, so that it can be sent to others. */
export function EntryList({ app, place }: { app: App; place: Place }) {
  const { query } = place;
  const { value, problem } = useQuery(app, `${query}`, (signal) =>
    app.client.page(routes.listAudit, searchOf(query, app.clock.now()), signal),
  );
  const columns = useMemo(() => entryColumns(app), [app]);
  // Then a master tells more than the entries that are shown do.
  const mayVerify = app.session.may("audit", "verify");
  const filtered = ["by", "action", "peel", "outcome", "since"].some((name) => query.has(name));
  const entries = value?.items ?? [];
  const rows = useMemo(() => value && withoutBeginnings(value.items), [value]);
  return (
    <ListPage
      {...{ app, problem, columns, rows }}
      title="Audit"
      label="Entries of the audit"
      rowKey={({ seq }) => String(seq)}
      to={({ seq }) => `/audit/${seq}`}
      actions={
        <>
          {query.has("before") && <LinkButton to={withFields(place, { before: "" })}>Newest</LinkButton>}
          {value?.next !== undefined && (
            <LinkButton to={withFields(place, { before: value.next })}>Earlier entries</LinkButton>
          )}
        </>
      }
      tools={
        <EntrySearch
          keys={app.keys}
          query={query}
          // Another search begins at its newest entry.
          onChange={(name, text) =>
            app.router.go(withFields(place, { before: "", [name]: text }), { replace: true })
          }
        />
      }
      empty={<NoEntry filtered={filtered} isWhole={value?.next === undefined} />}
    >
      {entries.length > 0 && <ChainState entries={entries} filtered={filtered} quiet={mayVerify} />}
      {mayVerify && <ChainCard app={app} />}
    </ListPage>
  );
}

function NoEntry({ filtered, isWhole }: { filtered: boolean; isWhole: boolean }) {
  if (!isWhole) {
    return (
      <Empty title="No entry matches here">
        A page looks at a limited number of entries: continue with Earlier entries.
      </Empty>
    );
  }
  return (
    <Empty title={filtered ? "No entry matches" : "No entries"} command="svc audit list --since 24h">
      Masters write an entry for each decision, and for each request that they refuse.
    </Empty>
  );
}
