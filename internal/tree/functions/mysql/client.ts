import { beginningOf, quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { NotReady } from "../not-ready.ts";

/** The server and the user to connect as, as Salt's states name them. */
export const connectionArgs = {
  connection_host: arg.string("Host of the server; the local socket by default."),
  connection_port: arg.any("Port of the server."),
  connection_unix_socket: arg.path("Socket of the server."),
  connection_user: arg.string("User to connect as; root by default."),
  connection_pass: arg.string("Password of this user. It is passed in the environment and not shown."),
  connection_default_file: arg.path("Option file of the client, such as /etc/mysql/debian.cnf."),
  connection_charset: arg.string("Character set of the connection."),
  connection_db: arg.string("Database to connect to."),
} as const;

export interface Connection {
  connection_host?: string | undefined;
  connection_port?: unknown;
  connection_unix_socket?: string | undefined;
  connection_user?: string | undefined;
  connection_pass?: string | undefined;
  connection_default_file?: string | undefined;
  connection_charset?: string | undefined;
  connection_db?: string | undefined;
}

/** A server of MySQL or MariaDB. */
export interface Mysql {
  isMariadb: boolean;
  /** Rows of columns; NULL is the text NULL. @throws StateFailure */
  rows(sql: string): Promise<string[][]>;
  /** @param purpose for the message, which never repeats the statement */
  run(purpose: string, statements: readonly string[]): Promise<void>;
}

const timeoutMs = 10 * 60_000;
const outputLimit = 8 * 1024 * 1024;
const programs = ["mariadb", "mysql"];

/** @throws NotReady when there is no client, or no server */
export async function openMysql(connection: Connection, context: StateContext): Promise<Mysql> {
  const system = systemOf(context);
  const program = programs.find((each) => system.has(each));
  if (program === undefined) throw new NotReady("neither mariadb nor mysql is installed on this host");
  const port = connection.connection_port;
  const options = [
    ...(connection.connection_host === undefined ? [] : [`--host=${connection.connection_host}`]),
    ...(port === undefined || port === null ? [] : [`--port=${port}`]),
    ...(connection.connection_unix_socket === undefined
      ? []
      : [`--socket=${connection.connection_unix_socket}`]),
    ...(connection.connection_user === undefined ? [] : [`--user=${connection.connection_user}`]),
    ...(connection.connection_charset === undefined
      ? []
      : [`--default-character-set=${connection.connection_charset}`]),
    ...(connection.connection_db === undefined ? [] : [`--database=${connection.connection_db}`]),
  ];
  const file = connection.connection_default_file;
  // In the environment, because other users can read the arguments of a program.
  const env = connection.connection_pass === undefined ? {} : { MYSQL_PWD: connection.connection_pass };
  const query = async (purpose: string, statements: readonly string[]) => {
    // The option for a file must be the first one.
    const argv = [program, ...(file === undefined ? [] : [`--defaults-file=${file}`]), ...options];
    const stdin = `SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES';\n${statements.map((each) => `${each};\n`).join("")}`;
    const { code, stdout, stderr } = await system.run([...argv, "--batch", "--skip-column-names"], {
      ...{ env, stdin, timeoutMs, outputLimit },
    });
    if (code === 0) return stdout;
    const [, number = "", reason = ""] = /ERROR (\d+)[^:]*: (.*)/.exec(stderr) ?? [];
    const said = shorten(reason) || `${program} exited with ${code}`;
    // 2000 and above are errors of the client: it gets no connection.
    if (Number(number) >= 2000) throw new NotReady(`the server does not answer: ${said}`);
    throw new StateFailure(`cannot ${purpose}: ${said}`);
  };
  const rows = async (sql: string) => {
    const text = await query("read the state of the server", [sql]);
    return text.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t").map(unescaped)]));
  };
  const [[version = ""] = []] = await rows("SELECT VERSION()");
  return {
    isMariadb: /mariadb/i.test(version),
    rows,
    run: async (purpose, statements) => void (await query(purpose, statements)),
  };
}

/** A message of the server can repeat the statement behind `near`, and with it a password. */
function shorten(reason: string): string {
  return beginningOf(reason.replace(/ near '.*$/s, ""), 300);
}

/** How the client writes special characters in its batch mode. */
function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, letter: string) => ({ n: "\n", t: "\t", "0": "\0" })[letter] ?? letter);
}

/** A name in a statement. */
export function identifier(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

/** A text in a statement; backslashes mean nothing in this session. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** An account in a statement. */
export function account(user: string, host: string): string {
  return `${literal(user)}@${literal(host)}`;
}

/** Why a server would not take a name, or `undefined`. */
export function nameProblem(name: string): string | undefined {
  if (name !== "" && name.length <= 80 && !/[\0\n\r]/.test(name)) return undefined;
  return `${quote(name)} is not a name that the server takes`;
}
