import type { ComponentChildren } from "preact";
import type { Keys } from "./keys.ts";
import { Count, Page } from "./page.tsx";
import { Problem } from "./problem.tsx";
import type { Router } from "./router.ts";
import { Table, type TableProps } from "./table/table.tsx";

/** A page that is a list: how much it shows, what limits it, and the table with the keys of the page. */
export function ListPage<Row extends object>(
  props: Omit<TableProps<Row>, "rows" | "go" | "keys" | "short"> & {
    app: { keys: Keys; router: Pick<Router, "go"> };
    title: string;
    /** Absent while nothing is read yet. */
    rows: readonly Row[] | undefined;
    /** Whether masters have more of them. */
    more?: boolean | undefined;
    /** What they are, behind their number; `shown` without. */
    word?: string;
    problem: Error | undefined;
    actions?: ComponentChildren;
    /** The fields that limit the list. */
    tools?: ComponentChildren;
    /** What stands where the table would be. */
    instead?: ComponentChildren;
    children?: ComponentChildren;
  },
) {
  const { app, title, rows, more, word, problem, actions, tools, instead, children, ...table } = props;
  const count = <Count count={rows?.length} more={more} {...(word === undefined ? {} : { word })} />;
  return (
    <Page title={title} tall beside={count} actions={actions}>
      {tools}
      <Problem problem={problem} />
      {children}
      {instead}
      {instead === undefined && rows !== undefined && (
        <Table {...table} rows={rows} go={app.router.go} keys={app.keys} />
      )}
    </Page>
  );
}
