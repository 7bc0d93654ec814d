import { describe, expect, test } from "bun:test";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf } from "../../../../test/harness/settle-state.ts";
import { fixtureSystem, type SystemFixture } from "../../../../test/harness/system.ts";
import { isPassword, storedForm } from "./password.ts";

// test/e2e/database-states.host.ts has the same states on a real server.

const salt = Buffer.from("0123456789abcdef");

describe("a password", () => {
  test("is the one whose stored form a server wrote", () => {
    const stored =
      "SCRAM-SHA-256$4096:KS047K3/GzYrZtEiHZqyAw==$xYJ0m7yNTEbdmPo4dotPatxjYh32r4Q3anaglo2L1o4=:7UF1wB7ONeN1P09a4Sv3w7PKCYfXvExVmWSFMEX57Uc=";
    expect(isPassword(stored, "app", "it's secret")).toBe(true);
    expect(isPassword(stored, "app", "it's not")).toBe(false);
    expect(isPassword(stored, "app", stored)).toBe(true);
    expect(isPassword("", "app", "")).toBe(true);
  });

  test.each(["scram-sha-256", "md5"])("is found in the form that %s makes", (method) => {
    const stored = storedForm("pässword", "app", method, salt);
    expect(stored).not.toContain("ssword");
    expect(isPassword(stored, "app", "pässword")).toBe(true);
    expect(isPassword(stored, "app", "password")).toBe(false);
    expect(storedForm(stored, "app", method, salt)).toBe(stored);
  });
});

/** A server without anything in it; `statements` has what reached it. */
function server(rows: (sql: string) => object[] = () => []) {
  const statements: string[] = [];
  const environments: unknown[] = [];
  const fixture: SystemFixture = {
    programs: ["psql"],
    answer(_, { stdin = "", env }) {
      environments.push(env);
      const [, query] = /SELECT row_to_json\(answer_row\) FROM \((.*)\) answer_row;/s.exec(stdin) ?? [];
      if (query === undefined) statements.push(...stdin.trim().split("\n").slice(1));
      const found = query === undefined ? [] : rows(query);
      return { stdout: found.map((row) => `${JSON.stringify(row)}\n`).join("") };
    },
  };
  return { fixture, statements, environments };
}

async function apply(called: string, name: string, args: object, rows?: (sql: string) => object[]) {
  const made = server(rows);
  const { plan, system } = await planOn(made.fixture, called, name, { user: "root", ...args });
  await plan.apply?.();
  return { ...made, plan, system };
}

describe("a statement", () => {
  test.each([
    [
      "postgres_database.present",
      'a"b',
      { owner: "o", encoding: "it's", tablespace: "fast" },
      `CREATE DATABASE "a""b" OWNER = "o" ENCODING = 'it''s' TABLESPACE = "fast";`,
    ],
    ["postgres_schema.present", "s", { dbname: "d", owner: "o" }, 'CREATE SCHEMA "s" AUTHORIZATION "o";'],
    [
      "postgres_extension.present",
      "hstore",
      { schema: "x", ext_version: "1.4" },
      'CREATE EXTENSION "hstore" SCHEMA "x" VERSION "1.4";',
    ],
    ["postgres_group.present", "crew", { createdb: true }, 'CREATE ROLE "crew" CREATEDB;'],
    [
      "postgres_privileges.present",
      "app",
      { object_name: "t", object_type: "table", privileges: ["select", "INSERT"], grant_option: true },
      'GRANT SELECT, INSERT ON TABLE "public"."t" TO "app" WITH GRANT OPTION;',
    ],
    [
      "postgres_privileges.present",
      "public",
      { object_name: "crew", object_type: "schema", privileges: ["USAGE"] },
      'GRANT USAGE ON SCHEMA "crew" TO PUBLIC;',
    ],
    [
      "postgres_privileges.present",
      "app",
      { object_name: "crew", object_type: "group" },
      'GRANT "crew" TO "app";',
    ],
  ])("of %s quotes what it is given", async (called, name, args, statement) => {
    expect((await apply(called, name, args)).statements).toEqual([statement]);
  });

  test("contains only the stored form of a password, and no program argument has it", async () => {
    const rows = (sql: string) => (sql.includes("password_encryption") ? [{ method: "scram-sha-256" }] : []);
    const { statements, system, environments, plan } = await apply(
      "postgres_user.present",
      "app",
      { password: "hush", db_password: "other hush", db_host: "db", groups: ["crew"] },
      rows,
    );
    expect(statements[0]).toMatch(/^CREATE ROLE "app" LOGIN PASSWORD 'SCRAM-SHA-256\$4096:[^']+';$/);
    expect(statements[1]).toBe('GRANT "crew" TO "app";');
    expect(JSON.stringify([statements, system.ran, plan.changes])).not.toContain("hush");
    expect(environments[0]).toMatchObject({ PGPASSWORD: "other hush", PGHOST: "db", PGDATABASE: "postgres" });
  });
});

test("a table is granted to again while one of its tables has not all of it", async () => {
  const args = { object_name: "ALL", object_type: "table", privileges: ["SELECT", "UPDATE"] };
  const rows = () => [{ held: ["SELECT", "UPDATE"] }, { held: ["SELECT"] }];
  const { statements } = await apply("postgres_privileges.present", "app", args, rows);
  expect(statements).toEqual(['GRANT UPDATE ON ALL TABLES IN SCHEMA "public" TO "app";']);
});

describe("what fails", () => {
  test("is reported without the statement", async () => {
    const stderr = `psql:<stdin>:2: ERROR:  role "app" already exists\nLINE 1: CREATE ROLE "app" PASSWORD 'hush'\n`;
    const answer: SystemFixture["answer"] = (_, { stdin = "" }) =>
      stdin.includes("SELECT row_to_json") ? {} : { code: 3, stderr };
    const message = await failureOf({ programs: ["psql"], answer }, "postgres_group.present", "app", {
      user: "root",
    });
    expect(message).toBe('cannot set the role app: role "app" already exists');
  });

  test("for want of a client or a server fails only when it is applied", async () => {
    const down: SystemFixture = {
      programs: ["psql"],
      answer: () => ({
        code: 2,
        stderr: "psql: error: connection to server failed: No such file or directory\n",
      }),
    };
    for (const fixture of [{}, down]) {
      const system = fixtureSystem(fixture);
      const { plan } = await planOn(system, "postgres_database.present", "shop", { user: "root" });
      expect(plan.changes).toEqual({ shop: "not known yet" });
      await expect(plan.apply?.()).rejects.toThrow(/psql is not installed|the server does not answer/);
    }
  });

  test("an encoding that only a new database can have", async () => {
    const found = { owner: "o", tablespace: "t", encoding: "LATIN1", lc_collate: "C", lc_ctype: "C" };
    const args = { user: "root", encoding: "UTF-8" };
    const message = await failureOf(server(() => [found]).fixture, "postgres_database.present", "shop", args);
    expect(message).toContain("which only a new database can change");
  });

  test("names and privileges that do not exist", async () => {
    expect(await failureOf(server().fixture, "postgres_user.present", "a\nb", { user: "root" })).toContain(
      "is not a name",
    );
    const args = { object_name: "t", object_type: "table", privileges: ["SELECT; DROP TABLE t"] };
    expect(await problemsOf("postgres_privileges.present", args)).toContain("is not a privilege");
    const usage = { user: "root", object_name: "t", object_type: "table", privileges: ["USAGE"] };
    expect(await failureOf(server().fixture, "postgres_privileges.present", "a", usage)).toContain(
      "on a table",
    );
  });
});
