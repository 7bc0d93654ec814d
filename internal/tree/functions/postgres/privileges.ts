import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith } from "../steps.ts";
import { type Connection, connectionArgs, identifier, literal, nameProblem, openPostgres } from "./client.ts";

/** Kinds of objects: the catalog that has their rights, and the rights that ALL means. */
const kinds = {
  table: {
    words: "TABLE",
    all: ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"],
    acl: (name: string, schema: string) => inSchema(name, schema, "'r','v','m','f','p'"),
  },
  sequence: {
    words: "SEQUENCE",
    all: ["SELECT", "UPDATE", "USAGE"],
    acl: (name: string, schema: string) => inSchema(name, schema, "'S'"),
  },
  schema: {
    words: "SCHEMA",
    all: ["CREATE", "USAGE"],
    acl: (name: string) =>
      `SELECT nspacl AS acl, nspowner AS owner, 'n' AS kind FROM pg_namespace WHERE nspname = ${literal(name)}`,
  },
  database: {
    words: "DATABASE",
    all: ["CREATE", "CONNECT", "TEMPORARY"],
    acl: (name: string) =>
      `SELECT datacl AS acl, datdba AS owner, 'd' AS kind FROM pg_database WHERE datname = ${literal(name)}`,
  },
  tablespace: {
    words: "TABLESPACE",
    all: ["CREATE"],
    acl: (name: string) =>
      `SELECT spcacl AS acl, spcowner AS owner, 't' AS kind FROM pg_tablespace WHERE spcname = ${literal(name)}`,
  },
  language: {
    words: "LANGUAGE",
    all: ["USAGE"],
    acl: (name: string) =>
      `SELECT lanacl AS acl, lanowner AS owner, 'l' AS kind FROM pg_language WHERE lanname = ${literal(name)}`,
  },
} as const;
type Kind = keyof typeof kinds | "group";

const args = {
  object_name: arg.string("Object; ALL means every table or sequence of the schema.", { required: true }),
  object_type: arg.string("Kind of the object.", {
    required: true,
    values: [...Object.keys(kinds), "group"],
  }),
  privileges: arg.strings("Privileges, such as [SELECT, INSERT]; ALL by default."),
  prepend: arg.string("Schema of tables and sequences; public by default."),
  ...connectionArgs,
} as const;

interface Wanted extends Connection {
  object_name: string;
  object_type: string;
  privileges?: string[] | undefined;
  prepend?: string | undefined;
  grant_option?: boolean | undefined;
}

const known = new Set<string>(["ALL", "TEMP", ...Object.values(kinds).flatMap(({ all }) => [...all])]);

/** States of privileges in PostgreSQL. */
export const privilegeStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_privileges.present",
    doc: "Ensures that a role, which is the name of the state, has privileges on an object, or is in a group.",
    args: {
      ...args,
      grant_option: arg.boolean("Also lets the role grant them; false by default."),
    },
    refuse: ({ privileges = [] }) => privilegeProblem(privileges),
    plan: (name, wanted, context) => planPrivileges(name, wanted, true, context),
  }),
  defineState({
    name: "postgres_privileges.absent",
    doc: "Ensures that a role, which is the name of the state, has no such privileges on an object, or is not in a group.",
    args,
    refuse: ({ privileges = [] }) => privilegeProblem(privileges),
    plan: (name, wanted, context) => planPrivileges(name, wanted, false, context),
  }),
]);

function privilegeProblem(privileges: readonly string[]): string | undefined {
  const bad = privileges.find((each) => !known.has(each.toUpperCase()));
  return bad === undefined ? undefined : `privileges: ${quote(bad, 40)} is not a privilege`;
}

async function planPrivileges(
  name: string,
  wanted: Wanted,
  present: boolean,
  context: StateContext,
): Promise<Plan> {
  const { object_name: object, object_type, prepend = "public", grant_option = false } = wanted;
  refuseWith(nameProblem(name) ?? nameProblem(object) ?? nameProblem(prepend));
  const kind = object_type as Kind;
  const server = await openPostgres(wanted, context);
  const grantee = name.toLowerCase() === "public" ? "PUBLIC" : identifier(name);
  const comments = {
    fine: present ? `${name} has the privileges on ${object}` : `${name} has no such privileges on ${object}`,
    due: `privileges of ${name} on ${object} would be ${present ? "granted" : "revoked"}`,
    done: `privileges of ${name} on ${object} were ${present ? "granted" : "revoked"}`,
  };
  const verb = present ? "granted" : "revoked";
  if (kind === "group") {
    const member = await server.rows(
      `SELECT 1 AS found FROM pg_auth_members m WHERE m.roleid = (SELECT oid FROM pg_roles WHERE rolname = ${literal(object)})
       AND m.member = (SELECT oid FROM pg_roles WHERE rolname = ${literal(name)})`,
    );
    const statement = present
      ? `GRANT ${identifier(object)} TO ${grantee}${grant_option ? " WITH ADMIN OPTION" : ""}`
      : `REVOKE ${identifier(object)} FROM ${grantee}`;
    const run = () => server.run(`change the group ${object}`, [statement]);
    return planSteps(
      member.length > 0 === present ? [] : [{ changes: { [name]: { [verb]: [object] } }, run }],
      comments,
    );
  }
  const { all, words, acl } = kinds[kind];
  const isAll = object.toUpperCase() === "ALL" && (kind === "table" || kind === "sequence");
  const given = (wanted.privileges ?? ["ALL"]).map((each) =>
    each.toUpperCase().replace(/^TEMP$/, "TEMPORARY"),
  );
  const privileges: string[] = given.includes("ALL") ? [...all] : given;
  const wrong = privileges.find((each) => !(all as readonly string[]).includes(each));
  if (wrong !== undefined) throw new StateFailure(`${wrong} is not a privilege on a ${kind}`);
  // Each row is one object, with what the role has on it.
  const rows = await server.rows<{ held: string[] }>(
    `SELECT COALESCE((SELECT json_agg(x.privilege_type) FROM aclexplode(COALESCE(o.acl, acldefault(o.kind::"char", o.owner))) x
       WHERE x.grantee = ${grantee === "PUBLIC" ? "0" : `(SELECT oid FROM pg_roles WHERE rolname = ${literal(name)})`}
       ${grant_option ? "AND x.is_grantable" : ""}), '[]'::json) AS held FROM (${acl(object, prepend)}) o`,
  );
  if (rows.length === 0 && !isAll && !present) {
    return planSteps([], { ...comments, fine: `the ${kind} ${object} does not exist` });
  }
  // An earlier state may create the object.
  const due =
    rows.length === 0 && !isAll
      ? privileges
      : privileges.filter((each) => rows.some(({ held }) => held.includes(each) !== present));
  const on = isAll
    ? `ALL ${words}S IN SCHEMA ${identifier(prepend)}`
    : `${words} ${kind === "table" || kind === "sequence" ? `${identifier(prepend)}.` : ""}${identifier(object)}`;
  const statement = present
    ? `GRANT ${due.join(", ")} ON ${on} TO ${grantee}${grant_option ? " WITH GRANT OPTION" : ""}`
    : `REVOKE ${due.join(", ")} ON ${on} FROM ${grantee}`;
  const run = () => server.run(`change privileges on ${object}`, [statement]);
  return planSteps(due.length === 0 ? [] : [{ changes: { [name]: { [verb]: due } }, run }], comments);
}

function inSchema(name: string, schema: string, relkinds: string): string {
  const one = name.toUpperCase() === "ALL" ? "" : `AND c.relname = ${literal(name)}`;
  return `SELECT c.relacl AS acl, c.relowner AS owner, CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END AS kind FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${literal(schema)} AND c.relkind IN (${relkinds}) ${one}`;
}
