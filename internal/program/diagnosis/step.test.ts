import { expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { judgeClock, judgeEnd } from "./findings.ts";
import { formatSteps, hasFailed, type Step, takeSteps } from "./step.ts";

const day = 24 * 3600_000;
const ok = (name: string, needs?: string[]): Step<unknown> => ({
  name,
  ...(needs === undefined ? {} : { needs }),
  check: () => ({ level: "ok", message: "well" }),
});

test("steps that depend on a failed step are skipped, transitively; the others run", async () => {
  const broken: Step<unknown> = {
    name: "b",
    next: "mend it",
    check() {
      throw new SvcError("unavailable", "broken");
    },
  };
  const results = await takeSteps([ok("a"), broken, ok("c", ["b"]), ok("d", ["c"]), ok("e", ["a"])], {});
  expect(results.map(({ level }) => level)).toEqual(["ok", "fail", "skip", "skip", "ok"]);
  expect(results[1]).toEqual({ step: "b", level: "fail", message: "broken", next: "mend it" });
  expect(hasFailed(results)).toBe(true);
  expect(formatSteps(results.slice(1, 3), { color: false })).toBe(
    "FAIL  b  broken\n         next: mend it\nskip  c  not checked: it needs b",
  );
});

test("when the time is up the current step fails, and the steps after it are skipped", async () => {
  const late = new AbortController();
  const hanging: Step<unknown> = {
    name: "b",
    next: "look there",
    check() {
      late.abort(new SvcError("unavailable", "no answer in time"));
      return new Promise(() => {});
    },
  };
  const results = await takeSteps([ok("a"), hanging, ok("c"), ok("d", ["b"])], {}, late.signal);
  expect(results).toEqual([
    { step: "a", level: "ok", message: "well" },
    { step: "b", level: "fail", message: "no answer in time", next: "look there" },
    { step: "c", level: "skip", message: "not checked: the time is up" },
    { step: "d", level: "skip", message: "not checked: it needs b" },
  ]);
});

test("an expiry is ok for 30 days or more, then a warning, then a failure", () => {
  const levelAt = (endsAt: number | undefined) => judgeEnd("it", endsAt, 1_000, "renew").level;
  expect([undefined, 1_000 + 30 * day, 30 * day, 1_001, 1_000].map(levelAt)).toEqual([
    "ok",
    "ok",
    "warn",
    "warn",
    "fail",
  ]);
});

test("only the certain part of a clock difference counts", () => {
  const levelOf = (aheadMs: number, uncertainMs = 0) => judgeClock("the bus", aheadMs, uncertainMs).level;
  expect([0, 1_999, -1_999].map((ms) => levelOf(ms))).toEqual(["ok", "ok", "ok"]);
  expect([2_000, -29_999].map((ms) => levelOf(ms))).toEqual(["warn", "warn"]);
  expect([30_000, -30_000].map((ms) => levelOf(ms))).toEqual(["fail", "fail"]);
  expect(levelOf(-2_500, 600)).toBe("ok");
  expect(judgeClock("the bus", -5_000, 0).message).toContain("5.0 s behind");
});

test("the word of a level is in color on a terminal, and the step is not", () => {
  const line = formatSteps([{ step: "failed", level: "fail", message: "failed" }], { color: true });
  expect(line).toBe("\u001b[31mFAIL\u001b[0m  failed  failed");
});

test("a text that others chose adds no line and no control character", () => {
  const message = "a\nok    clone  fine\u001b[2J";
  const lines = formatSteps([{ step: "b", level: "warn", message, next: message }], { color: false }).split(
    "\n",
  );
  expect(lines).toHaveLength(2);
  expect(lines.join("")).not.toContain("\u001b");
});

test("a step that fails by the clock of this host has that as its next step", async () => {
  const check = () => {
    throw new SvcError("forbidden", "it was signed 2h ahead: set the clock of your host, or send it again");
  };
  const [found] = await takeSteps([{ name: "storage", next: "restart the bus", check }], {});
  expect(found?.next).toBe("timedatectl set-ntp true, on this host: its clock is wrong");
});
