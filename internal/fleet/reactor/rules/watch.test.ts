import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import type { RuleSet } from "./load.ts";
import { watchRules } from "./watch.ts";

const rule = (name: string) => `rules: [{name: ${name}, match: a, do: [emit: {tag: x}]}]`;

function start(directory: string) {
  const clock = manualClock();
  const log = recordingLog();
  const changes: RuleSet[] = [];
  const watch = watchRules(directory, { clock, log, onChange: (set) => changes.push(set) });
  return { clock, log, changes, watch };
}

test("rules are there from the beginning, and follow the files", () => {
  using directory = temporaryDirectory("rules");
  const file = join(directory.path, "r.yaml");
  writeFileSync(file, rule("first"));
  const { clock, changes, watch } = start(directory.path);
  expect(watch.current.rules.map(({ name }) => name)).toEqual(["first"]);
  writeFileSync(file, rule("second"));
  clock.advance(60_000);
  expect(watch.current.rules.map(({ name }) => name)).toEqual(["second"]);
  clock.advance(60_000);
  expect(changes.map(({ rules }) => rules[0]?.name)).toEqual(["second"]);
  watch.stop();
  writeFileSync(file, rule("third"));
  clock.advance(120_000);
  expect(changes).toHaveLength(1);
});

test("with a broken file the last valid rules stay in force, and the error is logged once", () => {
  using directory = temporaryDirectory("rules");
  const file = join(directory.path, "r.yaml");
  writeFileSync(file, rule("good"));
  const { log, changes, watch } = start(directory.path);
  writeFileSync(file, "rules: [{}]");
  for (let i = 0; i < 3; i++) watch.reload();
  expect(watch.current.rules.map(({ name }) => name)).toEqual(["good"]);
  expect(watch.problem?.message).toBe(`${file}:1:9: rule 1: name is missing`);
  expect(log.records.filter(({ level }) => level === "error")).toHaveLength(1);
  writeFileSync(file, rule("good"));
  watch.reload();
  expect(watch.problem).toBeUndefined();
  expect(changes).toEqual([]);
  watch.stop();
});

test("a rule that misuses event data is logged with the ways out, and an unsafe one is logged too", () => {
  using directory = temporaryDirectory("rules");
  const file = join(directory.path, "r.yaml");
  const job = (name: string, more = "") =>
    `  - {name: ${name}, match: a, ${more}do: [job: {target: "*", function: cmd.run, args: {argv: [ls, "\${data.a}"]}}]}\n`;
  writeFileSync(
    file,
    `rules:\n${job("old")}${job("known", "unsafe: true, ")}  - {name: other, match: a, do: [emit: {tag: x}]}\n`,
  );
  const { log, watch } = start(directory.path);
  expect(watch.current.rules.map(({ name }) => name)).toEqual(["known", "other"]);
  expect(watch.problem).toBeUndefined();
  const reason = (line: number, name: string) =>
    `${file}:${line}: rule ${name}: do: job: args: argv: item 2 (\${data.a}): the program would read it as an option: write -- before it`;
  expect(log.records.filter(({ level }) => level !== "info")).toMatchObject([
    {
      level: "error",
      event: "reactor rule refused; the other rules are in force",
      fields: { rule: "old", reason: reason(2, "old"), next: expect.stringContaining("unsafe: true") },
    },
    {
      level: "warn",
      event: "reactor rule is unsafe",
      fields: { rule: "known", reason: `${reason(3, "known")} (allowed by unsafe: true)` },
    },
  ]);
  watch.reload();
  expect(log.records.filter(({ level }) => level === "error")).toHaveLength(1);
  watch.stop();
});

test("without a valid file or a directory there are no rules", () => {
  using directory = temporaryDirectory("rules");
  const file = join(directory.path, "r.yaml");
  writeFileSync(file, "{{");
  const { changes, watch } = start(directory.path);
  expect(watch.current.rules).toEqual([]);
  expect(watch.problem).toBeDefined();
  writeFileSync(file, rule("good"));
  watch.reload();
  expect(changes.map(({ rules }) => rules.length)).toEqual([1]);
  watch.stop();
  const none = start(join(directory.path, "none"));
  expect([none.watch.current.rules, none.watch.problem]).toEqual([[], undefined]);
  none.watch.stop();
});
