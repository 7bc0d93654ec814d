import { describe, expect, test } from "bun:test";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";
import { nativeForm } from "./password.ts";

/** A server whose answers are rows of tabs, as the client of MariaDB 10.11 prints them. */
function server(rows: (sql: string) => string[] = () => [], version = "10.11.19-MariaDB-0+deb12u1") {
  const statements: string[] = [];
  const fixture: SystemFixture = {
    programs: ["mariadb"],
    answer(_, { stdin = "" }) {
      const [mode, ...lines] = stdin.trim().split(";\n");
      expect(mode).toBe("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'");
      const sql = lines.join(";\n").replace(/;$/, "");
      if (sql === "SELECT VERSION()") return { stdout: `${version}\n` };
      if (!/^(?:SELECT|SHOW)/.test(sql)) statements.push(sql);
      return {
        stdout: rows(sql)
          .map((row) => `${row}\n`)
          .join(""),
      };
    },
  };
  return { fixture, statements };
}

async function apply(
  called: string,
  name: string,
  args: object,
  rows?: (sql: string) => string[],
  version?: string,
) {
  const made = server(rows, version);
  const { plan, system } = await planOn(made.fixture, called, name, { ...args });
  await plan.apply?.();
  return { ...made, plan, system };
}

test("the stored form of a password is that of mysql_native_password", () => {
  expect(nativeForm("password")).toBe("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
});

describe("a statement", () => {
  test.each([
    [
      "mysql_database.present",
      "a`b",
      { character_set: "utf8mb4", collate: "utf8mb4_bin" },
      "CREATE DATABASE `a``b` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    ],
    [
      "mysql_user.present",
      "o'brien",
      { host: "%", allow_passwordless: true },
      "CREATE USER 'o''brien'@'%' IDENTIFIED BY PASSWORD ''",
    ],
    [
      "mysql_user.present",
      "app",
      { unix_socket: true },
      "CREATE USER 'app'@'localhost' IDENTIFIED VIA unix_socket",
    ],
    [
      "mysql_grants.present",
      "g",
      { grant: "select, insert (a, b)", database: "my_shop.*", user: "app" },
      "GRANT SELECT, INSERT (A, B) ON `my\\_shop`.* TO 'app'@'localhost'",
    ],
    [
      "mysql_grants.present",
      "g",
      { grant: "ALL", database: "my_shop.my_table", user: "app", grant_option: true },
      "GRANT ALL PRIVILEGES ON `my_shop`.`my_table` TO 'app'@'localhost' WITH GRANT OPTION",
    ],
  ])("of %s quotes what it is given", async (called, name, args, statement) => {
    expect((await apply(called, name, args)).statements).toEqual([statement]);
  });

  test("of MySQL names the plugin", async () => {
    const { statements } = await apply(
      "mysql_user.present",
      "app",
      { password: "password" },
      undefined,
      "8.0.36",
    );
    expect(statements).toEqual([
      `CREATE USER 'app'@'localhost' IDENTIFIED WITH mysql_native_password AS '${nativeForm("password")}'`,
    ]);
  });

  test("contains only the stored form of a password, and no program argument has it", async () => {
    const { statements, system, plan } = await apply("mysql_user.present", "app", {
      ...{ password: "hush", connection_pass: "other hush", connection_user: "root" },
    });
    expect(JSON.stringify([statements, system.ran, plan.changes])).not.toContain("hush");
    expect(system.ran[0]).toBe("mariadb --user=root --batch --skip-column-names");
  });
});

describe("what is there already", () => {
  const user = (hash: string) => (sql: string) =>
    sql.includes("plugin") ? [`mysql_native_password\t${hash}\tN`] : [];
  // What SHOW GRANTS prints, in the batch mode of the client.
  const grants = () => [
    "GRANT RELOAD ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '*BC3E'",
    "GRANT SELECT, INSERT, UPDATE ON `shop`.* TO `app`@`%`",
    "GRANT ALL PRIVILEGES ON `a\\\\_b`.* TO `app`@`%` WITH GRANT OPTION",
  ];
  const app = { user: "app", host: "%" };

  test.each([
    ["mysql_user.present", { password: "password" }, user(nativeForm("password"))],
    ["mysql_database.present", { character_set: "utf8mb4" }, () => ["utf8mb4\tutf8mb4_general_ci"]],
    ["mysql_grants.present", { ...app, grant: "SELECT,UPDATE", database: "shop.*" }, grants],
    ["mysql_grants.present", { ...app, grant: ["ALL"], database: "a_b.*", grant_option: true }, grants],
    ["mysql_grants.present", { ...app, grant: "SELECT", database: "a_b.*" }, grants],
    ["mysql_grants.absent", { ...app, grant: "DELETE", database: "shop.*" }, grants],
  ])("%s %p changes nothing", async (called, args, rows) => {
    const { plan, statements } = await apply(called, "app", args, rows);
    expect([plan.changes, statements]).toEqual([{}, []]);
  });

  test("and more than is wanted is taken only on request", async () => {
    const args = { ...app, grant: "SELECT", database: "shop.*", revoke_first: true };
    const { statements } = await apply("mysql_grants.present", "app", args, grants);
    expect(statements).toEqual(["REVOKE INSERT, UPDATE ON `shop`.* FROM 'app'@'%'"]);
  });

  test.each([
    ["%", ["localhost", "10.%"], "; from localhost, 10.% the server takes the anonymous user instead"],
    ["10.%", ["localhost", "%"], "; from localhost the server takes"],
    ["localhost", ["localhost", "%"], "as requested"],
  ])("a user at %s says where an anonymous user at %p hides it", async (host, anonymous, said) => {
    const rows = (sql: string) =>
      sql.includes("plugin") ? [`mysql_native_password\t${nativeForm("password")}\tN`] : anonymous;
    const { plan } = await apply("mysql_user.present", "app", { host, password: "password" }, rows);
    expect([plan.changes, plan.comment.includes(said)]).toEqual([{}, true]);
    expect(plan.comment.includes("anonymous")).toBe(host !== "localhost");
  });

  test.each([
    ["unix_socket\t\tN", { allow_passwordless: true }],
    [`mysql_native_password\t${nativeForm("password")}\tY`, { password: "password" }],
    [`ed25519\t${nativeForm("password")}\tN`, { password: "password" }],
  ])("an account that is stored as %p is not as wanted", async (row, args) => {
    const rows = (sql: string) => (sql.includes("plugin") ? [row] : []);
    expect((await apply("mysql_user.present", "app", args, rows)).plan.changes).toEqual({
      "app@localhost": { password: "***" },
    });
  });

  test("the anonymous user is removed by its empty name, and cannot be created", async () => {
    expect((await apply("mysql_user.absent", "", {}, user(""))).statements).toEqual([
      "DROP USER ''@'localhost'",
    ]);
    const args = { allow_passwordless: true };
    expect(await failureOf(server().fixture, "mysql_user.present", "", args)).toContain("is not a name");
  });

  test("another password is set again, and an account removed", async () => {
    const set = await apply("mysql_user.present", "app", { password: "new" }, user(nativeForm("old")));
    expect(set.plan.changes).toEqual({ "app@localhost": { password: "***" } });
    expect((await apply("mysql_user.absent", "app", {}, user(""))).statements).toEqual([
      "DROP USER 'app'@'localhost'",
    ]);
  });
});

describe("what fails", () => {
  test("is reported without the statement", async () => {
    const stderr = "ERROR 1064 (42000) at line 2: You have an error near ''*HASH'' at line 1\n";
    const { fixture } = server();
    const answer: SystemFixture["answer"] = (argv, options) =>
      /CREATE/.test(options.stdin ?? "") ? { code: 1, stderr } : fixture.answer?.(argv, options);
    const args = { allow_passwordless: true };
    expect(await failureOf({ ...fixture, answer }, "mysql_user.present", "app", args)).toBe(
      "cannot set the user app: You have an error",
    );
  });

  test("for want of a client or a server fails only when it is applied", async () => {
    const stderr =
      "ERROR 2002 (HY000): Can't connect to local server through socket '/run/mysqld/mysqld.sock' (2)\n";
    const down: SystemFixture = { programs: ["mysql"], answer: () => ({ code: 1, stderr }) };
    for (const fixture of [{}, down]) {
      const { plan } = await planOn(fixture, "mysql_database.present", "shop", {});
      expect(plan.changes).toEqual({ shop: "not known yet" });
      await expect(plan.apply?.()).rejects.toThrow(/is installed on this host|the server does not answer/);
    }
  });

  test.each([
    ["mysql_user.present", {}, "give password or password_hash"],
    ["mysql_user.present", { password_hash: "plain" }, "password_hash: expected"],
    [
      "mysql_grants.present",
      { grant: "SELECT; DROP", database: "a.*", user: "b" },
      "grant: expected privileges",
    ],
    [
      "mysql_grants.present",
      { grant: "SELECT", database: "shop", user: "b" },
      "expected a database and a table",
    ],
    ["mysql_database.present", { collate: "a; DROP" }, "is not valid"],
  ])("%s refuses %p", async (called, args, message) => {
    expect(await problemsOf(called, args)).toContain(message);
  });
});
