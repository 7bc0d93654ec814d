import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { clockTime } from "../../kit/times.ts";
import { EventDialog } from "./event-dialog.tsx";
import { EventTable } from "./event-table.tsx";
import { type Filter, useEvents } from "./follow.ts";

/** What happens in the fleet, as it happens. The address has the filter. */
export function Events({ app, place }: { app: App; place: Place }) {
  const filter: Filter = {
    tag: place.query.get("tag") ?? "",
    source: place.query.get("source") ?? "",
    since: place.query.get("since") ?? "10m",
  };
  const typed = useSignal(filter);
  const feed = useEvents(app, filter);
  const form = useRef<HTMLFormElement>(null);
  const toggle = useRef(feed.toggle);
  toggle.current = feed.toggle;
  useLayoutEffect(
    () =>
      app.keys.bind({
        "/": { title: "Filter", run: () => form.current?.querySelector("input")?.focus() },
        p: { title: "Pause, or continue", run: () => toggle.current() },
      }),
    [app],
  );
  const shown = feed.events.find(({ id }) => id === place.query.get("event"));
  const go = (changed: Record<string, string>) => {
    const query = new URLSearchParams(place.query);
    for (const [name, text] of Object.entries(changed)) {
      if (text === "" || (name === "since" && text === "10m")) query.delete(name);
      else query.set(name, text);
    }
    app.router.go(query.size === 0 ? "/events" : `/events?${query}`, { replace: true });
  };
  const field = (name: keyof Filter, label: string, placeholder: string) => (
    <div class="field grow">
      <label for={`events-${name}`}>{label}</label>
      <input
        id={`events-${name}`}
        class="input mono"
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={typed.value[name]}
        onInput={({ currentTarget }) => {
          typed.value = { ...typed.value, [name]: currentTarget.value.trim() };
        }}
      />
    </div>
  );
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Events</h1>
        <span class="muted number" role="status">
          {feed.paused
            ? "Paused"
            : feed.problem !== undefined
              ? "Not read"
              : feed.brokenSince === undefined
                ? "Live"
                : `No connection since ${clockTime(feed.brokenSince)}; it is tried again`}
          {`, ${feed.events.length.toLocaleString("en")} shown`}
        </span>
        <div class="actions">
          <button type="button" class="button" aria-pressed={feed.paused} onClick={feed.toggle}>
            {feed.paused ? "Resume" : "Pause"}
          </button>
        </div>
      </header>
      <form
        class="tools"
        ref={form}
        aria-label="Filter"
        onSubmit={(event) => {
          event.preventDefault();
          go({ ...typed.value });
        }}
      >
        {field("tag", "Tag, a glob", "svc/job/**")}
        {field("source", "Source, a peel ID or a glob", "web*")}
        {field("since", "Since, a time or a duration ago", "10m")}
        <button type="submit" class="button below-label">
          Filter
        </button>
      </form>
      <Problem problem={feed.problem === undefined ? undefined : new Error(feed.problem)} />
      <EventTable
        app={app}
        events={feed.events}
        to={({ id }) => {
          const query = new URLSearchParams(place.query);
          query.set("event", id);
          return `/events?${query}`;
        }}
        empty={
          <Empty title="Nothing happened that matches" command={commandOf(filter)}>
            Events appear here as they come. A job, a host that joins or falls silent, and what peels send are
            events.
          </Empty>
        }
      />
      {shown !== undefined && <EventDialog app={app} event={shown} close={() => go({ event: "" })} />}
    </div>
  );
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
