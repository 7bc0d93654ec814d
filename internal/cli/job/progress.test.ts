import { describe, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { addCounts, summaryLine } from "./counts.ts";
import { formatProgress, startProgress } from "./progress.ts";

describe("the line", () => {
  const counts = { ok: 6, failed: 1, offline: 1, pending: 4 };

  test.each([
    [200, "[####################..........]  8/12  6 ok  1 failed  1 offline  4 waiting  3s"],
    [81, "[##################.........]  8/12  6 ok  1 failed  1 offline  4 waiting  3s"],
    [62, "[#######....]  8/12  6 ok  1 failed  1 offline  4 waiting  3s"],
    [59, "[#####...]  8/12  6 ok  1 failed  1 offline  4 waiting  3s"],
    [58, "8/12  6 ok  1 failed  1 offline  4 waiting  3s"],
    [20, "8/12  6 ok  1 faile"],
    [2, "8"],
    [1, ""],
    [0, ""],
  ])("is shorter than %i columns", (columns, expected) => {
    const line = formatProgress(counts, { columns, elapsedMs: 3_999 });
    expect(line.length).toBeLessThan(Math.max(1, columns));
    expect(line).toBe(expected);
  });

  test("begins empty and ends full", () => {
    const at = (counts: Parameters<typeof formatProgress>[0]) =>
      formatProgress(counts, { columns: 42, elapsedMs: 0 });
    expect(at({ pending: 3 })).toBe("[..............]  0/3  3 waiting  0s");
    expect(at({ ok: 2, pending: 1 })).toBe("[########.....]  2/3  2 ok  1 waiting  0s");
    expect(at({ ok: 3 })).toBe("[##############]  3/3  3 ok  0s");
    expect(at({})).toBe("[..............]  0/0  0s");
  });
});

describe("the terminal", () => {
  const xterm: Record<string, string> = { TERM: "xterm" };
  const start = (output: { isTTY?: boolean; columns?: number } = { isTTY: true }, env = xterm) => {
    const clock = manualClock();
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    return { clock, written, progress: startProgress({ ...output, write }, clock, env) };
  };

  test("is written to at most ten times a second, and the newest counts are never left out", () => {
    const { clock, written, progress } = start();
    for (let ok = 0; ok < 500; ok++) {
      progress.update({ ok, pending: 500 - ok });
      clock.advance(1);
    }
    expect(written.length).toBeLessThanOrEqual(6);
    progress.update({ ok: 500 });
    clock.advance(100);
    expect(written.at(-1)).toContain("500/500");
    progress.end();
    expect(written.at(-1)).toBe("\r\u001b[K");
    expect(clock.pending).toBe(0);
  });

  test("shows that the seconds continue without news", () => {
    const { clock, written, progress } = start();
    progress.update({ pending: 1 });
    clock.advance(3_000);
    expect(written.map((line) => /(\d+)s/.exec(line)?.[1])).toEqual(["0", "1", "2", "3"]);
    progress.end();
  });

  test("may change its width", () => {
    const output = { isTTY: true, columns: 60 };
    const clock = manualClock();
    const written: string[] = [];
    const target = Object.assign(output, { write: (text: string) => written.push(text) });
    const progress = startProgress(target, clock, xterm);
    progress.update({ ok: 1 });
    output.columns = 10;
    clock.advance(1_000);
    expect(written[0]).toContain("#");
    expect(written[1]).toBe("\r1/1  1 ok\u001b[K");
    progress.end();
  });

  test.each([
    ["a pipe", start({})],
    ["a dumb terminal", start({ isTTY: true }, { TERM: "dumb" })],
    ["a terminal without a name", start({ isTTY: true }, {})],
  ])("that is %s stays empty", (_, { clock, written, progress }) => {
    progress.update({ pending: 1 });
    clock.advance(5_000);
    progress.end();
    expect(written).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

test("the summary counts every outcome once, the good ones first", () => {
  expect(summaryLine({ offline: 1, failed: 1, ok: 10 })).toBe("12 peels: 10 ok, 1 failed, 1 offline");
  expect(summaryLine({ ok: 1 })).toBe("1 peel: 1 ok");
  expect(summaryLine({ pending: 2, lost: 1, busy: 0 })).toBe("3 peels: 1 lost, 2 waiting");
  expect(summaryLine({})).toBe("0 peels: none");
  expect(addCounts([{ ok: 2, failed: 1 }, { ok: 1, timeout: 4 }, {}])).toEqual({
    ok: 3,
    failed: 1,
    timeout: 4,
  });
});
