import type { ComponentChildren } from "preact";
import type { App, routes } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import { standings } from "./standing.ts";
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
  return (
    <Table
      label="Tokens"
      rows={tokens}
      rowKey={({ id }) => id}
      columns={[
        { id: "name", title: "Token", show: ({ name }) => name, by: ({ name }) => name },
        {
          id: "state",
          title: "State",
          show: ({ state }) => <Status word={state} outcome={standings[state] ?? "skipped"} />,
          by: ({ state }) => state,
        },
        { id: "roles", title: "Roles", wide: true, show: ({ roles }) => <Tags words={roles} /> },
        {
          id: "by",
          title: "Created by",
          wide: true,
          show: (one) => one.created_by,
          by: (one) => one.created_by,
        },
        {
          id: "expires",
          title: "Expires",
          wide: true,
          show: (one) => <Time at={one.expires_at} now={app.now} />,
          by: (one) => one.expires_at,
        },
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
      ]}
      empty={empty}
    />
  );
}
