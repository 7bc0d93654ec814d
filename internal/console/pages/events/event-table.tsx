import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { type EventGroup, EventSentence } from "../../event-words/mod.ts";
import { monoColumn, timeColumn } from "../../kit/table/columns.tsx";
import { type Column, Table } from "../../kit/table/table.tsx";

/** Events as sentences, the newest first. A row opens its events. */
export function EventTable(props: {
  app: App;
  groups: readonly EventGroup[];
  to(group: EventGroup): string;
  empty: ComponentChildren;
}) {
  const { app, groups, to, empty } = props;
  // The same objects each time: the table draws only the rows of new events.
  const columns = useMemo(() => eventColumns(app), [app]);
  return (
    <Table
      label="Events"
      rows={groups}
      rowKey={({ id }) => id}
      to={to}
      go={app.router.go}
      keys={app.keys}
      empty={empty}
      columns={columns}
    />
  );
}

const eventColumns = ({ now }: Pick<App, "now">): readonly Column<EventGroup>[] => [
  timeColumn(now, "at", "When", ({ at }) => at, { unsorted: true }),
  { id: "what", title: "What", show: ({ words }) => <EventSentence words={words} /> },
  monoColumn("tag", "Tag", ({ tag }) => tag, { wide: true, unsorted: true }),
];
