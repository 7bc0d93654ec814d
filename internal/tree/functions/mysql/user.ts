import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { account, connectionArgs, literal, type Mysql, nameProblem, openMysql } from "./client.ts";
import { isNativeForm, nativeForm } from "./password.ts";

const host = arg.string("Host that the user connects from; localhost by default.");

/** States of users of MySQL and MariaDB. */
export const userStates: readonly StateFunction[] = deferring([
  defineState({
    name: "mysql_user.present",
    doc: "Ensures that a user exists, with its password.",
    args: {
      host,
      password: arg.string("Password. It is not shown, and only its stored form reaches the server."),
      password_hash: arg.string("Stored form of the password: * and 40 hexadecimal digits."),
      allow_passwordless: arg.boolean("Allows a user without a password; false by default."),
      unix_socket: arg.boolean("Lets the user of the host with this name log in; false by default."),
      auth_plugin: arg.string("How the password is stored; mysql_native_password.", {
        values: ["mysql_native_password"],
      }),
      password_column: arg.string("Accepted for trees of Salt and not used."),
      ...connectionArgs,
    },
    refuse: ({ password, password_hash: hash, allow_passwordless = false, unix_socket = false }) =>
      hash !== undefined && !isNativeForm(hash)
        ? "password_hash: expected * and 40 hexadecimal digits"
        : password === undefined && hash === undefined && !allow_passwordless && !unix_socket
          ? "give password or password_hash, or allow_passwordless: true"
          : undefined,
    async plan(name, args, context) {
      const { host: from = "localhost", password, unix_socket = false } = args;
      refuseWith(nameProblem(name) ?? nameProblem(from));
      const server = await openMysql(args, context);
      const found = await stored(server, name, from);
      const hash = args.password_hash?.toUpperCase() ?? (password === undefined ? "" : nativeForm(password));
      const isSame = unix_socket
        ? /socket/.test(found?.plugin ?? "")
        : /^(?:mysql_native_password)?$/.test(found?.plugin ?? "") &&
          found?.hash.toUpperCase() === hash &&
          !found.isExpired;
      const who = account(name, from);
      const identified = unix_socket
        ? server.isMariadb
          ? "IDENTIFIED VIA unix_socket"
          : "IDENTIFIED WITH auth_socket"
        : server.isMariadb
          ? `IDENTIFIED BY PASSWORD ${literal(hash)}`
          : `IDENTIFIED WITH mysql_native_password AS ${literal(hash)}`;
      const steps: Step[] = [];
      if (found === undefined || !isSame) {
        const verb = found === undefined ? "CREATE" : "ALTER";
        steps.push({
          changes: { [`${name}@${from}`]: found === undefined ? "created" : { password: "***" } },
          run: () => server.run(`set the user ${name}`, [`${verb} USER ${who} ${identified}`]),
        });
      }
      const hidden = hiddenAt(from, await anonymousHosts(server));
      return planSteps(
        steps,
        says(
          `the user ${name}@${from}`,
          `${found === undefined ? "created" : "changed"}${hidden}`,
          `the user ${name}@${from} is as requested${hidden}`,
        ),
      );
    },
  }),
  defineState({
    name: "mysql_user.absent",
    doc: "Ensures that a user does not exist. The anonymous user has the empty name.",
    emptyName: true,
    args: { host, ...connectionArgs },
    async plan(name, args, context) {
      const { host: from = "localhost" } = args;
      refuseWith((name === "" ? undefined : nameProblem(name)) ?? nameProblem(from));
      const server = await openMysql(args, context);
      if ((await stored(server, name, from)) === undefined)
        return unchanged(`the user ${name}@${from} does not exist`);
      const run = () => server.run(`remove the user ${name}`, [`DROP USER ${account(name, from)}`]);
      return planSteps(
        [{ changes: { [`${name}@${from}`]: "removed" }, run }],
        says(`the user ${name}@${from}`, "removed"),
      );
    },
  }),
]);

async function stored(server: Mysql, name: string, from: string) {
  // Before MariaDB 10.4 the stored form is in a column of its own, which MySQL does not have.
  const hash = server.isMariadb
    ? "IF(authentication_string = '', Password, authentication_string)"
    : "authentication_string";
  const rows = await server.rows(
    `SELECT plugin, ${hash}, password_expired FROM mysql.user
     WHERE User = ${literal(name)} AND Host = ${literal(from)}`,
  );
  if (rows.length > 1) throw new StateFailure(`the server has ${name}@${from} more than once`);
  const [first] = rows;
  if (first === undefined) return undefined;
  return { plugin: first[0] ?? "", hash: first[1] ?? "", isExpired: first[2] === "Y" };
}

async function anonymousHosts(server: Mysql): Promise<string[]> {
  const rows = await server.rows("SELECT Host FROM mysql.user WHERE User = '' AND Host <> ''");
  return rows.map(([at = ""]) => at);
}

/**
 * Where a user cannot log in although its password is right. The server takes the account whose host is the most
 * exact one, and looks at the name only then, so that an anonymous user of `localhost` hides `app@%` there.
 */
function hiddenAt(from: string, anonymous: readonly string[]): string {
  const exactness = (at: string) => {
    const wildcard = at.search(/[%_]/);
    return wildcard < 0 ? Number.POSITIVE_INFINITY : wildcard;
  };
  const hosts = anonymous.filter((at) => exactness(at) > exactness(from));
  if (hosts.length === 0) return "";
  const shown = hosts.slice(0, 5).join(", ");
  return `; from ${shown} the server takes the anonymous user instead: remove it with mysql_user.absent, name: ''`;
}
