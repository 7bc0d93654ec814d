import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Empty } from "../../kit/empty.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import type { ViewProps } from "./shown.ts";

interface SeenEvent {
  id: string;
  at: string;
  tag: string;
  source: string;
  data: Readonly<Record<string, unknown>>;
}

const maxKept = 1_000;

/** What happens on a peel while the page is open. */
export function PeelEvents({ app, peel }: ViewProps) {
  const events = useSignal<readonly SeenEvent[]>([]);
  useEffect(
    () =>
      app.live.on([""], (arrived) => {
        const own = arrived.filter(({ source }) => source === peel.id);
        if (own.length > 0) events.value = [...own.toReversed(), ...events.value].slice(0, maxKept);
      }),
    [peel.id],
  );
  return (
    <>
      <p class="muted">
        Since this page is open.{" "}
        <a href={hrefOf(`/events?source=${encodeURIComponent(peel.id)}`)}>Earlier events</a>
      </p>
      <Table
        label={`Events of ${peel.id}`}
        rows={events.value}
        rowKey={({ id }) => id}
        columns={[
          { id: "at", title: "When", show: ({ at }) => <Time at={at} now={app.now} /> },
          { id: "tag", title: "Tag", show: ({ tag }) => <span class="mono">{tag}</span> },
          {
            id: "data",
            title: "Details",
            wide: true,
            show: ({ data }) => <span class="mono">{JSON.stringify(data)}</span>,
          },
        ]}
        empty={
          <Empty title="Nothing happened yet" command={`svc events --source ${peel.id} --since 1h`}>
            Events appear here as they come.
          </Empty>
        }
      />
    </>
  );
}
