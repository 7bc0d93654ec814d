import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { ShownEvent } from "../../../fleet/events/mod.ts";
import type { App } from "../../api/mod.ts";
import { hrefOf } from "../../kit/router.ts";
import { monoColumn, timeColumn } from "../../kit/table/columns.tsx";
import { type Column, Table } from "../../kit/table/table.tsx";

/** Events, the newest first. A row opens one. */
export function EventTable(props: {
  app: App;
  events: readonly ShownEvent[];
  to(event: ShownEvent): string;
  empty: ComponentChildren;
}) {
  const { app, events, to, empty } = props;
  // The same objects each time: the table draws only the rows of new events.
  const columns = useMemo(() => eventColumns(app), [app]);
  return (
    <Table
      label="Events"
      rows={events}
      rowKey={({ id }) => id}
      to={to}
      go={app.router.go}
      keys={app.keys}
      empty={empty}
      columns={columns}
    />
  );
}

const eventColumns = ({ now }: Pick<App, "now">): readonly Column<ShownEvent>[] => [
  monoColumn("tag", "Tag", ({ tag }) => tag, { unsorted: true }),
  {
    id: "source",
    title: "Source",
    show: ({ source, peel_id: peel }) =>
      peel === undefined ? (
        <span class="mono">{source}</span>
      ) : (
        <a href={hrefOf(`/peels/${source}`)}>{source}</a>
      ),
  },
  timeColumn(now, "at", "When", ({ at }) => at, { unsorted: true }),
  monoColumn("data", "Details", ({ data }) => JSON.stringify(data).slice(0, 300), {
    wide: true,
    unsorted: true,
  }),
];
