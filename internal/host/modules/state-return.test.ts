import { describe, expect, test } from "bun:test";
import { encode } from "../../base/msgpack.ts";
import { statesReturn, summaryOf } from "./state-return.ts";
import type { StateResult, StatesRun } from "./states-service.ts";

const state = (id: string, more: Partial<StateResult> = {}): StateResult => ({
  id,
  function: "file.managed",
  name: `/srv/${id}`,
  at: "web:1",
  result: true,
  changes: {},
  comment: "The file is in the desired state",
  duration_ms: 1,
  ...more,
});
const runOf = (states: StateResult[], test = false): StatesRun => ({
  states,
  environment: "base",
  test,
  duration_ms: 7,
  not_run: 0,
});
const many = (count: number, more: Partial<StateResult>) =>
  Array.from({ length: count }, (_, i) => state(`s${i}`, more));
const read = (run: StatesRun) =>
  statesReturn(run) as unknown as { states: StateResult[]; summary: { left_out?: number } };

test("each state is counted once", () => {
  const states = [
    state("a"),
    state("b", { changes: { x: 1 } }),
    state("c", { result: false, changes: { x: 1 } }),
    state("d", { skipped: "onlyif" }),
    state("e", { result: false, skipped: "requisite" }),
    state("f", { result: null }),
  ];
  expect(summaryOf(runOf(states))).toEqual({
    ok: 1,
    changed: 2,
    failed: 2,
    skipped: 1,
    duration_ms: 7,
    test: false,
    environment: "base",
  });
});

describe("a return", () => {
  test("that fits has everything, in order", () => {
    const states = [state("b"), state("a", { changes: { mode: "0644" } })];
    expect(read(runOf(states)).states).toEqual(states);
  });

  test("only names unchanged states when it is too large, and keeps changed ones complete", () => {
    const changed = state("changed", { changes: { "/srv/x": { diff: "+x\n".repeat(1_000) } } });
    const { states, summary } = read(runOf([changed, ...many(5_000, {})]));
    expect(states).toHaveLength(5_001);
    expect(states[0]).toEqual(changed);
    expect(states[1]).toEqual({ id: "s0", function: "file.managed", result: true } as StateResult);
    expect(summary.left_out).toBeUndefined();
  });

  test("then omits unchanged states, then cuts long differences", () => {
    const { states, summary } = read(
      runOf([...many(20_000, {}), ...many(100, { changes: { f: { diff: "x".repeat(50_000) } } })]),
    );
    expect(states).toHaveLength(100);
    expect(summary.left_out).toBe(20_000);
    expect(JSON.stringify(states[0]?.changes)).toContain("[cut: 1000 of 50000 characters]");
  });

  test.each([1_000, 20_000])("never omits a failed state in favor of a changed one: %i states", (count) => {
    const failed = state("failed", { result: false, comment: "x".repeat(100_000) });
    const run = runOf([...many(count, { changes: { f: "x".repeat(900) } }), failed]);
    const value = read(run);
    expect(value.states[0]).toMatchObject({ id: "s0", changes: { f: "left out" } });
    expect(encode(value as never).length).toBeLessThan(410 * 1024);
    expect(value.states.some(({ id }) => id === "failed")).toBe(true);
    expect(value.states.length + (value.summary.left_out ?? 0)).toBe(count + 1);
  });
});
