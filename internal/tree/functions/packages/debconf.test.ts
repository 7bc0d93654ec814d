import { describe, expect, test } from "bun:test";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import { fixtureSystem, type SystemFixture } from "../../../../test/harness/system.ts";

// What debconf-show 1.5.82 prints.
const shown = `* tzdata/Zones/Etc: UTC
  tzdata/Zones/Indian:
  tzdata/Areas: Etc
`;

function host(fixture: Partial<SystemFixture> = {}): SystemFixture {
  let text = shown;
  return {
    programs: ["debconf-set-selections"],
    answer([program], { stdin = "" }) {
      if (program === "debconf-show") return { stdout: text };
      const [, question = "", , value = ""] = /^\S+ (\S+) (\S+) (.*)\n$/.exec(stdin) ?? [];
      text = `${text.replace(new RegExp(`^[* ] ${question}:.*\n`, "m"), "")}* ${question}: ${value}\n`;
      return {};
    },
    ...fixture,
  };
}

describe("debconf.set", () => {
  test("sets the answers that differ", async () => {
    const data = {
      "tzdata/Areas": { type: "select", value: "Europe" },
      "tzdata/Zones/Etc": { type: "select", value: "UTC" },
      "tzdata/ask": { type: "boolean", value: true },
    };
    const { changes, ran } = await settleState(host(), "debconf.set", "tzdata", { data });
    expect(changes).toEqual({
      "tzdata/Areas": { old: "Etc", new: "Europe" },
      "tzdata/ask": { old: null, new: "true" },
    });
    expect(ran).toEqual(["debconf-set-selections", "debconf-set-selections"]);
  });

  test("compares passwords with the file of root, and shows none", async () => {
    const path = "/var/cache/debconf/passwords.dat";
    const stdins: string[] = [];
    const system = fixtureSystem({
      programs: ["debconf-set-selections"],
      files: { [path]: "Name: db/other\nValue: x\n\nName: db/root\nTemplate: db/root\nValue: old secret\n" },
      answer([program], { stdin = "" }) {
        if (program === "debconf-show") return { stdout: "* db/root: (password omitted)\n" };
        stdins.push(stdin);
        system.files.set(path, "Name: db/root\nValue: new secret\n");
        return {};
      },
    });
    const args = { data: { "db/root": { type: "password", value: "new secret" } } };
    const { plan } = await planOn(system, "debconf.set", "db", args);
    expect(plan.changes).toEqual({ "db/root": "***" });
    await plan.apply?.();
    expect(stdins).toEqual(["db db/root password new secret\n"]);
    expect(system.ran.join("\n")).not.toContain("secret");
    expect((await planOn(system, "debconf.set", "db", args)).plan.changes).toEqual({});
  });

  test("says what failed without the answer", async () => {
    const answer: SystemFixture["answer"] = ([program]) =>
      program === "debconf-show" ? {} : { code: 1, stderr: "error: cannot parse 'p4ss'" };
    const args = { data: { "db/root": { type: "password", value: "p4ss" } } };
    const message = await failureOf(host({ answer }), "debconf.set", "db", args);
    expect(message).toBe("cannot answer db/root: debconf-set-selections exited with 1");
  });

  test.each([
    [{ "db/x": { type: "text" } }, "db/x: value: expected"],
    [{ "db/x": { type: "word", value: "" } }, "type: expected one of"],
    [{ "db/x": { type: "string", value: "a\nother q string b" } }, "value: expected a text of one line"],
    [{ "x y": { type: "string", value: "a" } }, "is not a question"],
    [{ "db/x": "a" }, "type: expected one of"],
  ])("refuses %p", async (data, message) => {
    expect(await problemsOf("debconf.set", { data })).toContain(message);
  });

  test.each([
    [{ programs: [] }, "tzdata", "debconf is not installed"],
    [{}, "a b", "is not a name of a Debian package"],
  ])("needs debconf, and a name", async (fixture, name, message) => {
    const data = { "a/b": { type: "string", value: "" } };
    expect(await failureOf(host(fixture), "debconf.set", name, { data })).toContain(message);
  });
});
