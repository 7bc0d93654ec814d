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
import {
  account,
  type Connection,
  connectionArgs,
  identifier,
  type Mysql,
  nameProblem,
  openMysql,
} from "./client.ts";

const args = {
  grant: arg.any("Privileges, such as SELECT,INSERT or ALL PRIVILEGES.", { required: true }),
  database: arg.string("Database and table, such as shop.* or *.*.", { required: true }),
  user: arg.string("User.", { required: true }),
  host: arg.string("Host that the user connects from; localhost by default."),
  grant_option: arg.boolean("Also lets the user grant them; false by default."),
  escape: arg.boolean("Takes % and _ in the name of the database literally; true by default."),
  ...connectionArgs,
} as const;

interface Wanted extends Connection {
  grant: unknown;
  database: string;
  user: string;
  host?: string | undefined;
  grant_option?: boolean | undefined;
  escape?: boolean | undefined;
  ssl_option?: unknown;
  revoke_first?: boolean | undefined;
}

const privilege = /^[A-Z][A-Z ]*(?:\s*\([A-Z0-9_, ]+\))?$/;

/** States of privileges in MySQL and MariaDB. */
export const grantStates: readonly StateFunction[] = deferring([
  defineState({
    name: "mysql_grants.present",
    doc: "Ensures that a user has privileges.",
    args: {
      ...args,
      revoke_first: arg.boolean("Also takes other privileges on the same object; false by default."),
      ssl_option: arg.any(
        "Not supported: a state with it fails, because without it the user could connect without TLS.",
      ),
    },
    refuse: grantProblem,
    plan: (name, wanted, context) => planGrant(name, wanted, true, context),
  }),
  defineState({
    name: "mysql_grants.absent",
    doc: "Ensures that a user does not have privileges.",
    args,
    refuse: grantProblem,
    plan: (name, wanted, context) => planGrant(name, wanted, false, context),
  }),
]);

function grantProblem({ grant, database }: Pick<Wanted, "grant" | "database">): string | undefined {
  const bad = privilegesOf(grant).find((each) => !privilege.test(each));
  if (bad !== undefined || privilegesOf(grant).length === 0)
    return "grant: expected privileges, such as SELECT,INSERT";
  return database.includes(".") ? undefined : "database: expected a database and a table, such as shop.*";
}

function privilegesOf(grant: unknown): string[] {
  const texts = Array.isArray(grant) ? grant.map(String) : [String(grant ?? "")];
  // A comma in parentheses separates columns.
  return texts
    .flatMap((text) => text.split(/,(?![^(]*\))/))
    .map((each) => each.trim().toUpperCase().replace(/^ALL$/, "ALL PRIVILEGES"))
    .filter((each) => each !== "");
}

/** What is not written must not be left out: the user would be admitted without it. */
function refuseTls(option: unknown): string | undefined {
  const isGiven = Array.isArray(option)
    ? option.length > 0
    : option !== undefined && option !== null && option !== false;
  return isGiven ? "ssl_option: not supported; require TLS with ALTER USER, in cmd.run" : undefined;
}

async function planGrant(
  name: string,
  wanted: Wanted,
  present: boolean,
  context: StateContext,
): Promise<Plan> {
  const { user, host = "localhost", grant_option = false, revoke_first = false } = wanted;
  refuseWith(nameProblem(user) ?? nameProblem(host) ?? refuseTls(wanted.ssl_option));
  const server = await openMysql(wanted, context);
  const object = objectOf(wanted);
  const privileges = privilegesOf(wanted.grant);
  const held = await heldOn(server, user, host, object);
  const isAll = privileges.includes("ALL PRIVILEGES");
  const has = (each: string) =>
    each === "USAGE" || held.privileges.has(each) || (held.privileges.has("ALL PRIVILEGES") && !isAll);
  const due = present
    ? privileges.filter((each) => !has(each))
    : isAll
      ? held.privileges.size > 0
        ? ["ALL PRIVILEGES"]
        : []
      : privileges.filter(
          (each) => each !== "USAGE" && (held.privileges.has(each) || held.privileges.has("ALL PRIVILEGES")),
        );
  const extra =
    present && revoke_first && !isAll
      ? [...held.privileges].filter((each) => !privileges.includes(each))
      : [];
  const option = present && grant_option && !held.option;
  const who = account(user, host);
  const run = () =>
    server.run(`change the privileges of ${user}`, [
      ...(extra.length === 0 ? [] : [`REVOKE ${extra.join(", ")} ON ${object} FROM ${who}`]),
      ...(!present ? [`REVOKE ${due.join(", ")} ON ${object} FROM ${who}`] : []),
      ...(present && (due.length > 0 || option)
        ? [`GRANT ${privileges.join(", ")} ON ${object} TO ${who}${grant_option ? " WITH GRANT OPTION" : ""}`]
        : []),
    ]);
  const isDue = due.length > 0 || extra.length > 0 || option;
  const changes = {
    [name]: {
      [present ? "granted" : "revoked"]: due,
      ...(extra.length === 0 ? {} : { revoked: extra }),
      ...(option ? { grant_option: true } : {}),
    },
  };
  return planSteps(isDue ? [{ changes, run }] : [], {
    fine: `${user}@${host} ${present ? "has" : "does not have"} the privileges on ${wanted.database}`,
    due: `privileges of ${user}@${host} on ${wanted.database} would be ${present ? "granted" : "revoked"}`,
    done: `privileges of ${user}@${host} on ${wanted.database} were ${present ? "granted" : "revoked"}`,
  });
}

/** `shop.*` in a statement. The name of a database before `.*` is a pattern for the server. */
function objectOf({ database, escape: isLiteral = true }: Wanted): string {
  const at = database.indexOf(".");
  const [base, table] = [
    database.slice(0, at).replaceAll("`", ""),
    database.slice(at + 1).replaceAll("`", ""),
  ];
  refuseWith(nameProblem(base) ?? nameProblem(table));
  const literalBase = isLiteral && table === "*" ? base.replace(/[%_]/g, (each) => `\\${each}`) : base;
  return `${base === "*" ? "*" : identifier(literalBase)}.${table === "*" ? "*" : identifier(table)}`;
}

/** What SHOW GRANTS says about one object. */
async function heldOn(server: Mysql, user: string, host: string, object: string) {
  const privileges = new Set<string>();
  let option = false;
  let rows: string[][] = [];
  try {
    rows = await server.rows(`SHOW GRANTS FOR ${account(user, host)}`);
  } catch (thrown) {
    // An earlier state may create the user.
    if (!(thrown instanceof StateFailure) || !/no such grant/i.test(thrown.message)) throw thrown;
  }
  for (const [line = ""] of rows) {
    const [, list = "", on = "", rest = ""] = /^GRANT (.*?) ON (.*?) TO (.*)$/s.exec(line) ?? [];
    if (on !== object) continue;
    for (const each of privilegesOf(list)) if (each !== "USAGE") privileges.add(each);
    option ||= /WITH .*GRANT OPTION/.test(rest);
  }
  return { privileges, option };
}
