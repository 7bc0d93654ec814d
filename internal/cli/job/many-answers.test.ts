import { expect, test } from "bun:test";
import { createAnswers } from "./answers.ts";
import { formatReturns } from "./table.ts";

// A job on a whole fleet, in which every peel answers something else.

const peels = Array.from({ length: 10_000 }, (_, at) => `web-${at}`);
const isBad = (at: number) => at % 10 === 0;
const bad = peels.filter((_, at) => isBad(at));
const outcomes = Object.fromEntries(peels.map((peel, at) => [peel, isBad(at) ? "failed" : "ok"] as const));

function answered(lines: number, width = 60, count = peels.length) {
  const answers = createAnswers();
  for (const [at, peel] of peels.slice(0, count).entries()) {
    const stdout = Array.from({ length: lines }, (_, line) => `${at} ${line}`.padEnd(width, "x")).join("\n");
    const value = { stdout, stderr: "", retcode: 0 };
    answers.take(
      peel,
      { success: !isBad(at), ...(isBad(at) ? { error: "exit code 1" } : {}), return: value },
      peels.length,
    );
  }
  return answers;
}
const view = { jid: "job-1", targets: peels, outcomes, returns: {} };
const table = (answers: ReturnType<typeof answered>, full = false) =>
  formatReturns(view, answers, { color: false, full, now: 0 }).split("\n");

test("the end of the table is shown, which has what did not end well, and the rest is named", () => {
  const lines = table(answered(30));
  expect(lines.length).toBeLessThanOrEqual(2_002);
  expect(lines.length).toBeGreaterThan(1_900);
  expect(lines[1]).toMatch(
    /^… the answers of 9,9\d\d peels, 9\d\d of them not ok: svc job show job-1 --full$/,
  );
  expect(lines.find((line) => line.startsWith("web-"))).toMatch(/^web-\d+ +failed +exit code 1$/);
  expect(lines.findLast((line) => line.startsWith("web-"))).toStartWith(`${bad.at(-1)} `);
});

test("--full shows each of them", () => {
  const rows = table(answered(1), true).filter((line) => line.startsWith("web-"));
  expect(rows).toHaveLength(peels.length);
});

test("few lines are kept of long answers, those of failures apart from the others", () => {
  // 27 KB each.
  const count = 4_000;
  const answers = answered(30, 900, count);
  let [good, failed] = [0, 0];
  for (const [at, peel] of peels.slice(0, count).entries()) {
    const { lines = [], more = 0 } = answers.of(peel)?.answer ?? {};
    if (lines.length + more !== 30) throw new Error(`${peel}: ${lines.length} + ${more}`);
    for (const line of lines) {
      if (isBad(at)) failed += line.length;
      else good += line.length;
    }
  }
  const max = 8.1 * 1024 ** 2;
  expect([good < max, failed < max, good > 0, failed > 0]).toEqual([true, true, true, true]);
});
