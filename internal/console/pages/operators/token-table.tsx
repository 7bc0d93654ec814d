import type { ComponentChildren } from "preact";
import type { App, routes } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import type { Column } from "../../kit/table/column.ts";
import { textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { Time } from "../../kit/time.tsx";
import { standingColumn } from "./standing.tsx";
import { Tags } from "./tags.tsx";

type Token = NonNullable<(typeof routes.listTokens)["types"]>["answer"]["tokens"][number];

/** Tokens, each with what ends it. */
export function TokenTable(props: {
  app: App;
  tokens: readonly Token[];
  revoke(name: string): void;
  empty: ComponentChildren;
}) {
  const { app, tokens, revoke, empty } = props;
  const mayRevoke = app.session.may("tokens", "revoke");
  const columns: readonly Column<Token>[] = [
    textColumn("name", "Token", ({ name }) => name),
    standingColumn(({ state }) => state),
    { id: "roles", title: "Roles", wide: true, show: ({ roles }) => <Tags words={roles} /> },
    textColumn("by", "Created by", (one) => one.created_by, { wide: true }),
    timeColumn(app.now, "expires", "Expires", (one) => one.expires_at, { wide: true }),
    {
      id: "used",
      title: "Last used",
      wide: true,
      show: ({ last_used_at: at }) => (at === undefined ? "never" : <Time at={at} now={app.now} />),
      by: ({ last_used_at: at }) => at ?? "",
    },
    {
      id: "revoke",
      title: "Action",
      align: "end",
      show: ({ name, state }) =>
        mayRevoke && (state === "live" || state === "orphaned") ? (
          <Button kind="danger in-row" aria-label={`Revoke ${name}`} onClick={() => revoke(name)}>
            Revoke
          </Button>
        ) : null,
    },
  ];
  return <Table label="Tokens" rows={tokens} rowKey={({ id }) => id} columns={columns} empty={empty} />;
}
