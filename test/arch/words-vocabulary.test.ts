import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { lines, readRepository, type Source } from "./source.ts";
import { checkPhrases, countPhrases, type Limits, readPhrases } from "./words-vocabulary.ts";

const page = readFileSync(new URL("../../docs/vocabulary.md", import.meta.url), "utf8");
const phrases = readPhrases(page);
const table = new URL("words-limits.json", import.meta.url);
const limits = JSON.parse(readFileSync(table, "utf8")) as Limits;
const sum = (counts: Limits) => Object.values(counts).reduce((all, count) => all + count, 0);

// SVC_UPDATE_LIMITS=1 bun test test/arch/words-vocabulary.test.ts writes the limits again, for rooms that moved or
// were cleaned. All together may only fall.
test("pages, messages and comments keep to the vocabulary", () => {
  const sources = readRepository();
  if (process.env.SVC_UPDATE_LIMITS === "1") {
    const counts = countPhrases(sources, phrases);
    if (sum(counts) > sum(limits))
      throw new Error(`${sum(counts)} uses, more than the ${sum(limits)} so far`);
    writeFileSync(table, `${JSON.stringify(counts, null, 2)}\n`);
    return;
  }
  expect(lines(checkPhrases(sources, phrases, limits))).toEqual([]);
});

test("no page that is written by hand has a limit", () => {
  expect(Object.keys(limits).filter((place) => place.endsWith(".md"))).toEqual([]);
});

const first = `says "whoever" (1 in`;

test.each<[Source, string]>([
  [{ path: "docs/jobs.md", text: "Whoever\nasks." }, `docs/jobs.md: ${first} docs/jobs.md, 0 allowed)`],
  [{ path: "README.md", text: "for whoever asks" }, `README.md: ${first} README.md, 0 allowed)`],
  [
    { path: "internal/jobs/a.ts", text: 'const m = "whoever asks";' },
    `internal/jobs/a.ts: ${first} internal/jobs, 0 allowed)`,
  ],
  [
    { path: "internal/jobs/a.test.ts", text: "const m = `1 whoever asks`;" },
    `internal/jobs/a.test.ts: ${first} internal/jobs, 0 allowed)`,
  ],
  [{ path: "cmd/svc/main.ts", text: "// whoever asks\n" }, `cmd/svc/main.ts: ${first} cmd, 0 allowed)`],
])("a planted phrase is found in %o", (source, expected) => {
  const [found = ""] = lines(checkPhrases([source], phrases, {}));
  expect(found).toStartWith(expected);
});

test.each([
  "Who asks reads it.",
  "What of a request is stored",
  "The certificate is of another root.",
  "Peels are told.",
  "Runs so many at once",
  "The record counts for nothing.",
  "Nothing of it is left.",
])("a planted use of the grammar is found in a page of the console: %s", (text) => {
  const source = { path: "internal/console/pages/a.tsx", text: `export const a = <p title="${text}" />;` };
  expect(lines(checkPhrases([source], phrases, {}))).toHaveLength(1);
});

test("two texts that follow each other are no phrase, and things are told apart", () => {
  const text = 'const words = ["it is", "of the console", "which are told apart"];';
  expect(lines(checkPhrases([{ path: "internal/jobs/a.ts", text }], phrases, {}))).toEqual([]);
});

test("a phrase that a comment breaks over two lines is found", () => {
  const source = { path: "internal/jobs/a.ts", text: "/**\n * The file is no\n * list.\n */\nconst n = 1;" };
  expect(lines(checkPhrases([source], phrases, {}))).toEqual([
    'internal/jobs/a.ts: says "is no" (1 in internal/jobs, 0 allowed); use `is not a`, `does not`',
  ]);
});

test("code, names and the exceptions are not judged", () => {
  const sources = [
    {
      path: "docs/jobs.md",
      text: "```text\nwhoever\n```\nThe key `whoever`; there is no such file, it is no longer used.",
    },
    { path: "internal/jobs/a.ts", text: "const whoever = is + no;" },
    { path: "test/e2e/a.test.ts", text: 'const m = "whoever";' },
  ];
  expect(lines(checkPhrases(sources, phrases, {}))).toEqual([]);
});

test("a limit that a room has fallen below must be lowered", () => {
  expect(lines(checkPhrases([], phrases, { "internal/jobs": 2 }))).toEqual([
    "internal/jobs: is down to 0 uses; lower its limit from 2",
  ]);
});

test("every term of the vocabulary is explained once, in one sentence", () => {
  const terms = page
    .slice(0, page.indexOf("## Words and phrases not to use"))
    .split("\n")
    .filter((line) => /^\| (?!Term|---)/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  expect(terms.length).toBeGreaterThan(50);
  expect(new Set(terms.map(([, term]) => term)).size).toBe(terms.length);
  for (const [, term, meaning] of terms)
    expect([term, meaning]).toEqual([term, expect.stringMatching(/^[A-Z0-9][^.]*(?:\.\w[^.]*)*\.$/)]);
});
