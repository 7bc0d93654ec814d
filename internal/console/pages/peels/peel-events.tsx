import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { ShownEvent } from "../../../fleet/events/mod.ts";
import type { App } from "../../api/mod.ts";
import { type EventGroup, EventSentence, groupEvents } from "../../event-words/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { hrefOf } from "../../kit/router.ts";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import type { ViewProps } from "./shown.ts";

const maxKept = 1_000;

/** What happens on a peel while the page is open. */
export function PeelEvents({ app, peel }: ViewProps) {
  const events = useSignal<readonly ShownEvent[]>([]);
  useEffect(
    () =>
      app.live.on([""], (arrived) => {
        const own = arrived.filter(({ source }) => source === peel.id);
        if (own.length > 0) events.value = [...own.toReversed(), ...events.value].slice(0, maxKept);
      }),
    [peel.id],
  );
  const groups = useMemo(() => groupEvents(events.value), [events.value]);
  return (
    <>
      <p class="muted">
        Since this page is open.{" "}
        <a href={hrefOf(`/events?source=${encodeURIComponent(peel.id)}`)}>Earlier events</a>
      </p>
      <Table
        label={`Events of ${peel.id}`}
        rows={groups}
        rowKey={({ id }) => id}
        columns={eventColumns(app)}
        empty={
          <Empty title="Nothing happened yet" command={`svc events --source ${peel.id} --since 1h`}>
            Events appear here as they come.
          </Empty>
        }
      />
    </>
  );
}

const unsorted = { unsorted: true } as const;

const eventColumns = ({ now }: Pick<App, "now">): readonly Column<EventGroup>[] => [
  timeColumn(now, "at", "When", ({ at }) => at, unsorted),
  { id: "what", title: "What", show: ({ words }) => <EventSentence words={words} /> },
  monoColumn("tag", "Tag", ({ tag }) => tag, { ...unsorted, wide: true }),
];
