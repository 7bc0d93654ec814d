import { useMemo, useRef } from "preact/hooks";
import type { App, ConsolePage } from "../../api/mod.ts";
import { groupEvents } from "../../event-words/mod.ts";
import { withFields } from "../../kit/address-field.ts";
import { Button } from "../../kit/button.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { clockTime } from "../../kit/times.ts";
import { useKeys } from "../../kit/use-keys.ts";
import { EventDialog } from "./event-dialog.tsx";
import { EventFilter } from "./event-filter.tsx";
import { EventTable } from "./event-table.tsx";
import { type Feed, type Filter, useEvents } from "./follow.ts";

export const eventsPage: ConsolePage = {
  name: "Events",
  path: "/events",
  key: "v",
  may: (session) => session.may("events", "read"),
  View: Events,
};

const usualSince = "10m";

/** What happens in the fleet, as it happens. The address has the filter. */
function Events({ app, place }: { app: App; place: Place }) {
  const filter: Filter = {
    tag: place.query.get("tag") ?? "",
    source: place.query.get("source") ?? "",
    since: place.query.get("since") ?? usualSince,
  };
  const feed = useEvents(app, filter);
  const toggle = useRef(feed.toggle);
  toggle.current = feed.toggle;
  useKeys(app.keys, { p: { title: "Pause, or continue", run: () => toggle.current() } }, []);
  const groups = useMemo(() => groupEvents(feed.events), [feed.events]);
  const wanted = place.query.get("event");
  // A group is named by its newest event, and another one may come while it is open.
  const shown = groups.find(({ events }) => events.some(({ id }) => id === wanted));
  const go = (fields: Readonly<Record<string, string>>) =>
    app.router.go(withFields(place, fields), { replace: true });
  return (
    <Page
      title="Events"
      tall
      beside={
        <span class="muted number" role="status">
          {`${standOf(feed)}, ${feed.events.length.toLocaleString("en")} shown`}
        </span>
      }
      actions={
        <Button aria-pressed={feed.paused} onClick={feed.toggle}>
          {feed.paused ? "Resume" : "Pause"}
        </Button>
      }
    >
      <EventFilter
        keys={app.keys}
        filter={filter}
        onFilter={({ since, ...fields }) => go({ ...fields, since: since === usualSince ? "" : since })}
      />
      <Problem problem={feed.problem === undefined ? undefined : new Error(feed.problem)} />
      <EventTable
        app={app}
        groups={groups}
        to={({ id }) => withFields(place, { event: id })}
        empty={
          <Empty title="Nothing happened that matches" command={commandOf(filter)}>
            Events appear here as they come. A job, a host that joins or falls silent, and what peels send are
            events.
          </Empty>
        }
      />
      {shown !== undefined && <EventDialog app={app} group={shown} close={() => go({ event: "" })} />}
    </Page>
  );
}

function standOf({ paused, problem, brokenSince }: Feed): string {
  if (paused) return "Paused";
  if (problem !== undefined) return "Not read";
  return brokenSince === undefined ? "Live" : `Not live since ${clockTime(brokenSince)}; it is tried again`;
}

/** The same in a terminal. */
function commandOf({ tag, source, since }: Filter): string {
  const word = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    "svc events",
    tag === "" ? "" : `--tag ${word(tag)}`,
    source === "" ? "" : `--source ${word(source)}`,
    `--since ${/^\w+$/.test(since) ? since : word(since)}`,
  ]
    .filter(Boolean)
    .join(" ");
}
