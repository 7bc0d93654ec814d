import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { until } from "../../../test/harness/until.ts";
import { systemClock } from "../../base/clock.ts";
import { followPolicy } from "./follow.ts";
import { lintPolicy } from "./lint.ts";

let dir: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  dir = temporaryDirectory("policy");
});
afterEach(() => dir[Symbol.dispose]());
const path = () => join(dir.path, "enroll-policy.yaml");
const rules = (...names: string[]) =>
  `rules: [${names.map((name) => `{name: ${name}, decide: hold}`).join(", ")}]\n`;
const write = (text: string) => writeFileSync(path(), text);

describe("a policy file that is followed", () => {
  test("is in force within 10 s of a change, also where the directory cannot be watched", () => {
    const clock = manualClock();
    const followed = followPolicy(path(), { clock, log: recordingLog() });
    const names = () => followed.current().rules.map(({ name }) => name);
    expect([names(), followed.problem()]).toEqual([[], undefined]);
    write(rules("a"));
    clock.advance(10_000);
    expect(names()).toEqual(["a"]);
    write(rules("a", "b"));
    clock.advance(10_000);
    expect(names()).toEqual(["a", "b"]);
    followed.stop();
  });

  test("stays in force while it is broken or gone", () => {
    const [clock, log] = [manualClock(), recordingLog()];
    write(rules("a"));
    const followed = followPolicy(path(), { clock, log });
    const names = () => followed.current().rules.map(({ name }) => name);
    for (const [text, problem] of [
      [
        "rules: [{name: b, decide: alow}]",
        `${path()}:1:27: rule b: decide: expected approve, reject or hold`,
      ],
      ["rules: [", `${path()}:1:`],
      [undefined, `${path()} does not exist any more: write rules: [] to end the policy`],
    ] as const) {
      if (text === undefined) rmSync(path());
      else write(text);
      clock.advance(10_000);
      expect(names()).toEqual(["a"]);
      expect(followed.problem()).toStartWith(`the last good policy stays in force: ${problem}`);
    }
    clock.advance(60_000);
    expect(log.records.filter(({ level }) => level === "error")).toHaveLength(3);
    write("rules: []");
    clock.advance(10_000);
    expect([names(), followed.problem()]).toEqual([[], undefined]);
    followed.stop();
  });

  test("that is broken from the start admits no host", () => {
    write("rules: all");
    const followed = followPolicy(path(), { clock: manualClock(), log: recordingLog() });
    expect(followed.current().rules).toEqual([]);
    expect(followed.problem()).toStartWith(`no rule is in force: ${path()}:1:8: rules: expected a list`);
    followed.stop();
  });

  test("is read at once where the directory is watched", async () => {
    const followed = followPolicy(path(), { clock: systemClock, log: recordingLog() });
    write(rules("a"));
    await until(async () => followed.current().rules.length === 1);
    followed.stop();
  });
});

describe("lint", () => {
  const lint = (text: string) => {
    write(text);
    return lintPolicy(path());
  };

  test("has no complaint about rules that look at more than a name", () => {
    const good = "rules: [{match: {address: 10.0.0.0/8}, decide: approve}, {decide: hold}]";
    expect(lint(good)).toMatchObject({ problems: [], warnings: [] });
  });

  test("names the place of a problem, and a missing file", () => {
    expect(lint("rules: [{decide: x}]").problems).toEqual([
      `${path()}:1:18: rule rule-1: decide: expected approve, reject or hold`,
    ]);
    expect(() => lintPolicy(join(dir.path, "other"))).toThrow("no such file: name the policy file");
    mkdirSync(join(dir.path, "d"));
    expect(lintPolicy(join(dir.path, "d")).problems[0]).toContain("is a directory");
  });

  test("warns of what admits more than its author may think", () => {
    writeFileSync(join(dir.path, "ask"), "");
    const found = lint(`rules:
  - {name: names, match: {peel: 'web-*'}, decide: approve}
  - {name: ask, match: {peel: a}, program: {argv: [${join(dir.path, "ask")}]}}
  - {name: all, decide: hold}
  - {name: late, match: {peel: b}, decide: hold}
`);
    expect(found.warnings).toEqual([
      expect.stringContaining(
        "enroll-policy.yaml:2: rule names: approves every host that claims such a peel id",
      ),
      expect.stringContaining(`:3: rule ask: ${join(dir.path, "ask")} cannot be run here: permission denied`),
      expect.stringContaining(":5: rule late: is never reached"),
    ]);
    chmodSync(path(), 0o666);
    expect(lintPolicy(path()).warnings[0]).toContain("group or others can change it");
  });
});
