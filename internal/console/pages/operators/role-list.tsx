import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, textColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { type Holders, holdersOf } from "./holders.ts";
import { RolePage } from "./role-page.tsx";
import { kindsOf, type ShownRole } from "./roles.ts";

interface HeldRole {
  role: ShownRole;
  held: Holders;
}

const holdersColumn = (id: "operators" | "tokens", title: string): Column<HeldRole> => ({
  ...longColumn(id, title, ({ held }: HeldRole) => held[id].join(", ")),
  by: ({ held }) => held[id].length,
});

const columns: readonly Column<HeldRole>[] = [
  textColumn("role", "Role", ({ role }) => role.name),
  {
    id: "from",
    title: "From",
    show: ({ role }) => (role.built_in ? "built in" : "roles file"),
    by: ({ role }) => Number(role.built_in),
  },
  longColumn("kinds", "About", ({ role }) => kindsOf(role).join(", "), { wide: true, unsorted: true }),
  holdersColumn("operators", "Operators"),
  holdersColumn("tokens", "Tokens"),
];

/** The roles in force on the master that answers, with their holders; or one of them: `?view=roles&role=<name>`. */
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
        built in are in {value === undefined ? "the roles file" : <code>{value.file}</code>} of the masters.
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
          columns={columns}
          empty={<Empty title="No roles" command="svc roles show" />}
        />
      )}
    </>
  );
}
