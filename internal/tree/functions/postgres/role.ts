import { systemRandom } from "../../../base/id.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, type Plan, type StateContext, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import {
  type Connection,
  connectionArgs,
  identifier,
  literal,
  nameProblem,
  openPostgres,
  type Postgres,
} from "./client.ts";
import { isPassword, storedForm } from "./password.ts";

const flag = (doc: string) => arg.boolean(`${doc}; unchanged by default.`);
const attributes = {
  createdb: flag("Whether the role may create databases"),
  createroles: flag("Whether the role may create roles"),
  superuser: flag("Whether the role may do everything"),
  replication: flag("Whether the role may replicate"),
  inherit: flag("Whether the role has the rights of its groups"),
} as const;
const groups = arg.strings("Groups that the role must be in; others stay.");

interface Role {
  createdb: boolean;
  createroles: boolean;
  superuser: boolean;
  replication: boolean;
  inherit: boolean;
  login: boolean;
  valid_until: string | null;
  groups: string[];
}

interface Wanted extends Connection {
  createdb?: boolean | undefined;
  createroles?: boolean | undefined;
  superuser?: boolean | undefined;
  replication?: boolean | undefined;
  inherit?: boolean | undefined;
  login?: boolean | undefined;
  password?: string | undefined;
  default_password?: string | undefined;
  refresh_password?: boolean | undefined;
  valid_until?: string | undefined;
  groups?: string[] | undefined;
}

const words = {
  ...{ createdb: "CREATEDB", createroles: "CREATEROLE", superuser: "SUPERUSER" },
  ...{ replication: "REPLICATION", inherit: "INHERIT", login: "LOGIN" },
} as const;

/** States of users of PostgreSQL. */
export const userStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_user.present",
    doc: "Ensures that a role exists that may log in.",
    args: {
      ...attributes,
      login: arg.boolean("Whether the role may log in; true by default."),
      password: arg.string(
        "Password, or its stored form (SCRAM-SHA-256$… or md5…). It is not shown, and only its stored form reaches the server.",
      ),
      default_password: arg.string("Password of a new role."),
      refresh_password: arg.boolean("Sets the password on each run; false by default."),
      encrypted: arg.any("Accepted for trees of Salt: passwords are always stored encrypted."),
      valid_until: arg.string("Time after which the password is not valid, such as 2030-01-01."),
      groups,
      ...connectionArgs,
    },
    plan: (name, args, context) => planRole(name, { ...args, login: args.login ?? true }, "user", context),
  }),
  defineState({
    name: "postgres_user.absent",
    doc: "Ensures that a role does not exist. One that owns something is not removed.",
    args: connectionArgs,
    plan: (name, args, context) => planNoRole(name, args, "user", context),
  }),
]);

/** States of groups of PostgreSQL. */
export const groupStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_group.present",
    doc: "Ensures that a role exists that other roles can be in.",
    args: { ...attributes, login: flag("Whether the role may log in"), groups, ...connectionArgs },
    plan: (name, args, context) => planRole(name, args, "group", context),
  }),
  defineState({
    name: "postgres_group.absent",
    doc: "Ensures that a role does not exist. One that owns something is not removed.",
    args: connectionArgs,
    plan: (name, args, context) => planNoRole(name, args, "group", context),
  }),
]);

async function planRole(name: string, wanted: Wanted, what: string, context: StateContext): Promise<Plan> {
  refuseWith(nameProblem(name) ?? (wanted.groups ?? []).map(nameProblem).find((each) => each !== undefined));
  const server = await openPostgres(wanted, context);
  const [role] = await server.rows<Role>(roleQuery(name));
  const { password: always, default_password: first, valid_until: until } = wanted;
  const password = role === undefined ? (always ?? first) : always;
  const changed = (Object.keys(words) as (keyof typeof words)[]).filter(
    (key) => wanted[key] !== undefined && wanted[key] !== role?.[key],
  );
  const isStale =
    password !== undefined &&
    (role === undefined ||
      wanted.refresh_password === true ||
      !isPassword(await storedPassword(server, name), name, password));
  const untilDiffers = until !== undefined && !isSameTime(until, role?.valid_until ?? null);
  const steps: Step[] = [];
  if (role === undefined || changed.length > 0 || isStale || untilDiffers) {
    const changes = {
      ...Object.fromEntries(
        changed.map((key) => [key, { old: role?.[key] ?? null, new: wanted[key] ?? null }]),
      ),
      ...(isStale ? { password: "***" } : {}),
      ...(untilDiffers ? { valid_until: { old: role?.valid_until ?? null, new: until } } : {}),
    };
    steps.push({
      changes:
        role === undefined
          ? { [name]: "created", ...(isStale ? { password: "***" } : {}) }
          : { [name]: changes },
      async run() {
        const options = changed.map((key) => `${wanted[key] === true ? "" : "NO"}${words[key]}`);
        if (isStale) {
          const [method] = await server.rows<{ method: string }>(
            "SELECT current_setting('password_encryption') AS method",
          );
          const stored = storedForm(password, name, method?.method ?? "", systemRandom(16));
          options.push(`PASSWORD ${literal(stored)}`);
        }
        if (untilDiffers) options.push(`VALID UNTIL ${literal(until)}`);
        const verb = role === undefined ? "CREATE" : "ALTER";
        await server.run(`set the role ${name}`, [`${verb} ROLE ${identifier(name)} ${options.join(" ")}`]);
      },
    });
  }
  const missing = (wanted.groups ?? []).filter((group) => role?.groups.includes(group) !== true);
  if (missing.length > 0) {
    steps.push({
      changes: { groups: { old: role?.groups ?? [], new: [...(role?.groups ?? []), ...missing] } },
      run: () =>
        server.run(
          `put ${name} into its groups`,
          missing.map((group) => `GRANT ${identifier(group)} TO ${identifier(name)}`),
        ),
    });
  }
  return planSteps(
    steps,
    says(
      `the ${what} ${name}`,
      role === undefined ? "created" : "changed",
      `the ${what} ${name} is as requested`,
    ),
  );
}

async function planNoRole(
  name: string,
  wanted: Connection,
  what: string,
  context: StateContext,
): Promise<Plan> {
  refuseWith(nameProblem(name));
  const server = await openPostgres(wanted, context);
  const found = await server.rows(`SELECT 1 AS found FROM pg_roles WHERE rolname = ${literal(name)}`);
  if (found.length === 0) return unchanged(`the ${what} ${name} does not exist`);
  const run = () => server.run(`remove the role ${name}`, [`DROP ROLE ${identifier(name)}`]);
  return planSteps([{ changes: { [name]: "removed" }, run }], says(`the ${what} ${name}`, "removed"));
}

function roleQuery(name: string): string {
  return `SELECT r.rolcreatedb AS createdb, r.rolcreaterole AS createroles, r.rolsuper AS superuser,
    r.rolreplication AS replication, r.rolinherit AS inherit, r.rolcanlogin AS login,
    r.rolvaliduntil AS valid_until,
    COALESCE((SELECT json_agg(g.rolname::text) FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
      WHERE m.member = r.oid), '[]'::json) AS groups
    FROM pg_roles r WHERE r.rolname = ${literal(name)}`;
}

/** Only a superuser reads stored passwords; for others they are unknown, and set again. */
async function storedPassword(server: Postgres, name: string): Promise<string> {
  const [allowed] = await server.rows<{ may: boolean }>(
    "SELECT has_table_privilege('pg_catalog.pg_authid', 'SELECT') AS may",
  );
  if (allowed?.may !== true) return "";
  const [found] = await server.rows<{ password: string | null }>(
    `SELECT rolpassword AS password FROM pg_catalog.pg_authid WHERE rolname = ${literal(name)}`,
  );
  return found?.password ?? "";
}

function isSameTime(wanted: string, now: string | null): boolean {
  if (wanted === "infinity" || now === null || now === "infinity") return wanted === (now ?? "infinity");
  return Date.parse(wanted) === Date.parse(now);
}
