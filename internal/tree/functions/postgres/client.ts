import { beginningOf, quote } from "../../../base/cut.ts";
import { defined } from "../../../base/defined.ts";
import { findAccount } from "../../../base/process/account.ts";
import { arg } from "../../../host/modules/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { NotReady } from "../not-ready.ts";

/** Where the server is, as Salt's states name it. */
export const connectionArgs = {
  user: arg.string("Runs psql as this user of the host; postgres by default."),
  maintenance_db: arg.string("Database to connect to; postgres by default."),
  db_host: arg.string("Host of the server, or directory of its socket; the local one by default."),
  db_port: arg.any("Port of the server."),
  db_user: arg.string("Role to connect as; the user by default."),
  db_password: arg.string("Password of this role. It is passed in the environment and not shown."),
} as const;

export interface Connection {
  user?: string | undefined;
  maintenance_db?: string | undefined;
  db_host?: string | undefined;
  db_port?: unknown;
  db_user?: string | undefined;
  db_password?: string | undefined;
}

/** A server of PostgreSQL. */
export interface Postgres {
  /**
   * Runs a query, each of whose rows is one value.
   *
   * @throws StateFailure
   */
  rows<Row>(sql: string): Promise<Row[]>;
  /** Runs statements, each by itself. @param purpose for the message, which never repeats the statement */
  run(purpose: string, statements: readonly string[]): Promise<void>;
}

const timeoutMs = 10 * 60_000;
const outputLimit = 8 * 1024 * 1024;

/** @throws StateFailure when psql is not installed; SvcError when the user does not exist */
export async function openPostgres(connection: Connection, context: StateContext): Promise<Postgres> {
  const system = systemOf(context);
  if (!system.has("psql")) throw new NotReady("psql is not installed on this host");
  const {
    user = "postgres",
    maintenance_db = "postgres",
    db_host,
    db_port,
    db_user,
    db_password,
  } = connection;
  const account = await findAccount(user, context);
  // In the environment, because other users can read the arguments of a program.
  const env = defined({
    PGDATABASE: maintenance_db,
    PGHOST: db_host,
    PGPORT: db_port === undefined || db_port === null ? undefined : String(db_port),
    PGUSER: db_user,
    PGPASSWORD: db_password,
    PGCONNECT_TIMEOUT: "30",
    PGAPPNAME: "svc",
  });
  const query = async (purpose: string, sql: string) => {
    const argv = ["psql", "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1"];
    const stdin = `SET standard_conforming_strings = on;\n${sql}\n`;
    const { code, stdout, stderr } = await system.run(argv, { account, env, stdin, timeoutMs, outputLimit });
    if (code === 0) return stdout;
    const reason = reasonOf(stderr) || `psql exited with ${code}`;
    // psql exits with 2 when it gets no connection.
    if (code === 2) throw new NotReady(`the server does not answer: ${reason}`);
    throw new StateFailure(`cannot ${purpose}: ${reason}`);
  };
  return {
    async rows<Row>(sql: string) {
      const text = await query(
        "read the state of PostgreSQL",
        `SELECT row_to_json(answer_row) FROM (${sql}) answer_row;`,
      );
      return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as Row]));
    },
    run: async (purpose, statements) =>
      void (await query(purpose, statements.map((each) => `${each};`).join("\n"))),
  };
}

/** The message of the server alone: the lines after it repeat the statement, which may contain a secret. */
function reasonOf(stderr: string): string {
  const line = stderr.split("\n").find((each) => /\b(?:ERROR|FATAL|error):/.test(each)) ?? "";
  return beginningOf(line.replace(/^.*\b(?:ERROR|FATAL|error):\s*/, ""), 300);
}

/** A name in a statement. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in a statement. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Why a server would not take a name, or `undefined`. */
export function nameProblem(name: string): string | undefined {
  if (name !== "" && Buffer.byteLength(name) <= 63 && !/[\0\n\r]/.test(name)) return undefined;
  return `${quote(name)} is not a name that PostgreSQL takes`;
}
