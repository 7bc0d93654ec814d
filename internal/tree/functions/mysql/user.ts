import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, unchanged } from "../steps.ts";
import { account, connectionArgs, literal, type Mysql, nameProblem, openMysql } from "./client.ts";
import { isNativeForm, nativeForm } from "./password.ts";

const host = { type: "string", doc: "Host that the user connects from; localhost by default." } as const;

/** States of users of MySQL and MariaDB. */
export const userStates: readonly StateFunction[] = deferring([
  defineState({
    name: "mysql_user.present",
    doc: "Ensures that a user exists, with its password.",
    args: {
      host,
      password: {
        type: "string",
        doc: "Password. It is not shown, and only its stored form reaches the server.",
      },
      password_hash: { type: "string", doc: "Stored form of the password: * and 40 hexadecimal digits." },
      allow_passwordless: { type: "boolean", doc: "Allows a user without a password; false by default." },
      unix_socket: {
        type: "boolean",
        doc: "Lets the user of the host with this name log in; false by default.",
      },
      auth_plugin: {
        type: "string",
        values: ["mysql_native_password"],
        doc: "How the password is stored; mysql_native_password.",
      },
      password_column: { type: "string", doc: "Accepted for trees of Salt and not used." },
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
      const isSame = unix_socket ? /socket/.test(found?.plugin ?? "") : found?.hash.toUpperCase() === hash;
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
      return planSteps(steps, {
        fine: `the user ${name}@${from} is as requested`,
        due: `the user ${name}@${from} would be ${found === undefined ? "created" : "changed"}`,
        done: `the user ${name}@${from} was ${found === undefined ? "created" : "changed"}`,
      });
    },
  }),
  defineState({
    name: "mysql_user.absent",
    doc: "Ensures that a user does not exist.",
    args: { host, ...connectionArgs },
    async plan(name, args, context) {
      const { host: from = "localhost" } = args;
      refuseWith(nameProblem(name) ?? nameProblem(from));
      const server = await openMysql(args, context);
      if ((await stored(server, name, from)) === undefined)
        return unchanged(`the user ${name}@${from} does not exist`);
      const run = () => server.run(`remove the user ${name}`, [`DROP USER ${account(name, from)}`]);
      return planSteps([{ changes: { [`${name}@${from}`]: "removed" }, run }], {
        fine: "",
        due: `the user ${name}@${from} would be removed`,
        done: `the user ${name}@${from} was removed`,
      });
    },
  }),
]);

async function stored(server: Mysql, name: string, from: string) {
  const rows = await server.rows(
    `SELECT plugin, authentication_string FROM mysql.user WHERE User = ${literal(name)} AND Host = ${literal(from)}`,
  );
  if (rows.length > 1) throw new StateFailure(`the server has ${name}@${from} more than once`);
  const [first] = rows;
  return first === undefined ? undefined : { plugin: first[0] ?? "", hash: first[1] ?? "" };
}
