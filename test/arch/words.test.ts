import { describe, expect, test } from "bun:test";
import { lines, readRepository, type Source } from "./source.ts";
import { bans, checkWords } from "./words.ts";

test("no banned word is used more often than its limit", () => {
  expect(lines(checkWords(readRepository(), bans))).toEqual([]);
});

const planted = new Map<string, Source>([
  ["Date.now", { path: "internal/jobs/run.ts", text: "const at = Date.now();" }],
  ["new Date()", { path: "internal/jobs/run.ts", text: "const at = new Date();" }],
  ["performance.now", { path: "internal/jobs/run.ts", text: "const at = performance.now();" }],
  ["setTimeout", { path: "internal/jobs/run.ts", text: "setTimeout(run, 5);" }],
  ["setInterval", { path: "test/harness/wait.ts", text: "setInterval(run, 5);" }],
  ["Bun.sleep", { path: "internal/jobs/run.test.ts", text: "await Bun.sleep(5);" }],
  ["Math.random", { path: "internal/jobs/run.ts", text: "const n = Math.random();" }],
  ["console.", { path: "internal/jobs/run.ts", text: "console.log(1);" }],
  ["process.exit", { path: "internal/cli/run.ts", text: "process.exit(1);" }],
  ["as any", { path: "internal/jobs/run.ts", text: "const n = m as any;" }],
  [".skip(", { path: "internal/jobs/run.test.ts", text: 'test.skip("x", () => {});' }],
  [".only(", { path: "internal/jobs/run.test.ts", text: 'test.only("x", () => {});' }],
  [".todo(", { path: "internal/jobs/run.test.ts", text: 'test.todo("x");' }],
  ["@ts-ignore", { path: "internal/jobs/run.ts", text: "// @ts-ignore\nconst n = m;" }],
  ["@ts-expect-error", { path: "internal/jobs/run.ts", text: "/* @ts-expect-error */ const n = m;" }],
  ["@ts-nocheck", { path: "internal/jobs/run.ts", text: "// @ts-nocheck\n" }],
  ["TODO", { path: "internal/jobs/run.ts", text: "// FIXME: later\n" }],
]);

describe("a planted word is found:", () => {
  for (const entry of bans) {
    test(entry.word, () => {
      const source = planted.get(entry.word);
      if (source === undefined) throw new Error(`plant a use of ${entry.word} in this test`);
      const found = lines(checkWords([source], [{ ...entry, limit: 0 }]));
      expect(found).toEqual([`${source.path}: uses ${entry.word} (1 in all, 0 allowed); ${entry.instead}`]);
    });
  }
});

test("words in strings and comments are no uses, code inside a template is", () => {
  // A placeholder of the planted code, not of this one.
  const template = "const s = `Date.now $" + "{Date.now()}`;";
  const sources = [
    { path: "internal/jobs/a.ts", text: 'const s = "é Date.now"; // Date.now\n/* Date.now */' },
    { path: "internal/jobs/b.ts", text: template },
  ];
  const none = bans.map((entry) => ({ ...entry, limit: 0 }));
  expect(checkWords(sources, none).map((violation) => violation.path)).toEqual(["internal/jobs/b.ts"]);
});

test("time, randomness and the exit code come in and go out at one place each", () => {
  const sources = [
    { path: "internal/base/clock.ts", text: "const now = () => Date.now();" },
    { path: "internal/base/id.ts", text: "const jitter = () => Math.random();" },
    { path: "cmd/svc/main.ts", text: "process.exit(await run());" },
  ];
  expect(
    checkWords(
      sources,
      bans.map((entry) => ({ ...entry, limit: 0 })),
    ),
  ).toEqual([]);
});

test("a limit that the code has fallen below must be lowered", () => {
  const [first] = bans;
  if (first === undefined) throw new Error("no word is banned");
  expect(lines(checkWords([], [{ ...first, limit: 2 }]))).toEqual([
    `test/arch/words.ts: ${first.word} is down to 0 uses; lower its limit from 2`,
  ]);
});
