import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { Table } from "../../kit/table.tsx";
import { holdersOf } from "./holders.ts";
import { RolePage } from "./role-page.tsx";
import { kindsOf } from "./roles.ts";

/** The roles in force on the master that answers, with who has them; or one of them: `?view=roles&role=<name>`. */
export function RoleList({ app, place }: { app: App; place: Place }) {
  const name = place.query.get("role");
  const { value, problem } = useQuery(app, "roles", async (signal) => {
    const { client, session } = app;
    const [book, { operators }, { tokens }] = await Promise.all([
      client.call(routes.showRoles, {}, signal),
      session.may("operators", "list") ? client.call(routes.listOperators, {}, signal) : { operators: [] },
      session.may("tokens", "list") ? client.call(routes.listTokens, {}, signal) : { tokens: [] },
    ]);
    const holders = new Map(holdersOf(operators, tokens).map((one) => [one.role, one]));
    const rows = book.roles.map((role) => ({
      role,
      held: holders.get(role.name) ?? { role: role.name, operators: [], tokens: [] },
    }));
    return { rows, file: book.file, trouble: book.problem };
  });
  if (name !== null && value !== undefined) {
    const one = value.rows.find(({ role }) => role.name === name);
    return <RolePage name={name} file={value.file} role={one?.role} held={one?.held} />;
  }
  const own = app.session.view.value?.roles;
  return (
    <>
      <p class="muted">
        You have {own?.join(", ") ?? "credentials without roles, which may do everything"}. Roles that are not
        built in stand in {value === undefined ? "the roles file" : <code>{value.file}</code>} of the masters.
      </p>
      <Problem problem={problem} />
      {value?.trouble !== undefined && (
        <p class="notice failed" role="alert">
          {value.trouble}
        </p>
      )}
      {value !== undefined && (
        <Table
          label="Roles"
          rows={value.rows}
          rowKey={({ role }) => role.name}
          to={({ role }) => `/operators?view=roles&role=${encodeURIComponent(role.name)}`}
          go={app.router.go}
          keys={app.keys}
          columns={[
            { id: "role", title: "Role", show: ({ role }) => role.name, by: ({ role }) => role.name },
            {
              id: "from",
              title: "From",
              show: ({ role }) => (role.built_in ? "built in" : "roles file"),
              by: ({ role }) => Number(role.built_in),
            },
            {
              id: "kinds",
              title: "About",
              wide: true,
              show: ({ role }) => <span title={kindsOf(role).join(", ")}>{kindsOf(role).join(", ")}</span>,
            },
            {
              id: "operators",
              title: "Operators",
              show: ({ held }) => <span title={held.operators.join(", ")}>{held.operators.join(", ")}</span>,
              by: ({ held }) => held.operators.length,
            },
            {
              id: "tokens",
              title: "Tokens",
              show: ({ held }) => <span title={held.tokens.join(", ")}>{held.tokens.join(", ")}</span>,
              by: ({ held }) => held.tokens.length,
            },
          ]}
          empty={<Empty title="No roles" command="svc roles show" />}
        />
      )}
    </>
  );
}
