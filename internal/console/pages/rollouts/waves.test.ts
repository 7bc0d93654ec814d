import { expect, test } from "bun:test";
import { drawWaves, failureWords, gateAt } from "./waves.ts";

const at = "2026-01-31T12:00:00Z";
const peels = (count: number) => Array.from({ length: count }, (_, index) => `web-${index}`);
const ended = { peels: peels(1), begun_at: at, ended_at: at, counts: { ok: 1 } };
const begun = { peels: peels(4), begun_at: at, counts: { ok: 1, failed: 1, pending: 2 } };
const ahead = { peels: peels(5) };

test("waves stand side by side, each as wide as it has peels", () => {
  const { waves, width } = drawWaves({ waves: [ended, begun, ahead], status: "running" }, 300);
  expect(width).toBe(300);
  expect(waves.map(({ number, peels, state, gate }) => [number, peels, state, gate])).toEqual([
    [1, 1, "done", "passed"],
    [2, 4, "running", "ahead"],
    [3, 5, "ahead", undefined],
  ]);
  const [one, two, three] = waves;
  expect((one?.x ?? 0) + (one?.width ?? 0) + 28).toBeCloseTo(two?.x ?? 0);
  expect((three?.x ?? 0) + (three?.width ?? 0)).toBeCloseTo(300);
  expect(two?.parts.map(({ word, from, to }) => [word, from, to])).toEqual([
    ["ok", 0, 0.25],
    ["pending", 0.25, 0.75],
    ["failed", 0.75, 1],
  ]);
});

test("a gate says why the next wave has not started", () => {
  const gates = (status: Parameters<typeof drawWaves>[0]["status"]) =>
    drawWaves({ waves: [ended, ahead], status }, 600).waves.map(({ gate, state }) => [gate, state]);
  expect(gates("paused")).toEqual([
    ["held", "done"],
    [undefined, "ahead"],
  ]);
  expect(gates("failed")).toEqual([
    ["closed", "done"],
    [undefined, "never"],
  ]);
  expect(gates("running")[0]).toEqual(["ahead", "done"]);
});

test("few waves do not fill the picture", () => {
  const { waves, width } = drawWaves({ waves: [ended, ahead], status: "running" }, 1_000);
  expect([waves.map((wave) => wave.width), width]).toEqual([[174, 180], 382]);
});

test("many waves make the picture wider and stay visible", () => {
  const { waves, width } = drawWaves({ waves: Array(100).fill(ahead), status: "running" }, 600);
  expect(width).toBe(100 * 18 + 99 * 28);
  expect(Math.min(...waves.map((wave) => wave.width))).toBe(18);
});

test("the countdown at a gate ends when the wait after the wave does", () => {
  const ended = { peels: ["a"], begun_at: "2026-01-31T09:00:00Z", ended_at: "2026-01-31T09:01:00Z" };
  const waves = [ended, { peels: ["b"] }];
  const shown = { status: "running" as const, step: "soaking" as const, wave_wait: "10m", waves };
  expect(gateAt(shown)).toBe(Date.parse("2026-01-31T09:11:00Z"));
  expect(gateAt({ ...shown, step: "waiting" })).toBeUndefined();
  expect(gateAt({ ...shown, status: "paused" })).toBeUndefined();
  expect(gateAt({ ...shown, wave_wait: "soon" })).toBeUndefined();
});

test.each([
  [0, 0, "none so far; the first one stops the rollout"],
  [0, 3, "none so far; more than 3 stop the rollout"],
  [2, 3, "2 so far; more than 3 stop the rollout"],
  [4, 3, "4, of which 3 were allowed"],
])("%d failures of at most %d", (failures, max, words) => {
  expect(failureWords(failures, max)).toBe(words);
});
