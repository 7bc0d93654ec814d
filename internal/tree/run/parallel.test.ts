import { expect, test } from "bun:test";
import { compileOptions, runOptions } from "../../../test/harness/states.ts";
import type { Plan, StateFunction } from "../function/mod.ts";
import type { StateRegistry } from "../functions/mod.ts";
import { testStates } from "../functions/test.ts";
import { compileStates } from "../language/mod.ts";
import { type RunOptions, runStates } from "./run.ts";

/** A run whose states of `slow.*` and `cmd.*` end when the test lets them, and what happened in it. */
function runOf(lines: string, options: Partial<RunOptions> = {}) {
  const happened: string[] = [];
  const waiting = new Map<string, () => void>();
  const come = new Map<string, () => void>();
  const held = (name: string): StateFunction => ({
    name,
    doc: "",
    args: {},
    plan: (id, _, { cache, environment }): Plan => {
      const stale = cache.has("seen") ? " stale" : "";
      cache.set("seen", true);
      happened.push(`${id} begins${stale}${environment.has("X") ? " with X" : ""}`);
      return {
        changes: { [id]: "changed" },
        comment: "would",
        async apply() {
          const { promise, resolve } = Promise.withResolvers<void>();
          waiting.set(id, resolve);
          come.get(id)?.();
          await promise;
          happened.push(`${id} ends`);
          environment.set("X", "1");
          if (id.startsWith("bad")) throw new Error("it is bad");
          return undefined;
        },
      };
    },
  });
  const all = [...testStates, held("cmd.held"), held("host.held"), held("slow.held")];
  const registry: StateRegistry = {
    functionsOf: async (module) => all.filter(({ name }) => name.startsWith(`${module}.`)),
    all: async () => all,
  };
  const running = (async () => {
    const compiled = await compileStates(compileOptions({ "a.sls": stateFile(lines) }, { registry }), ["a"]);
    return runStates(compiled, runOptions(options));
  })();
  return {
    happened,
    running,
    /** Resolves when a state is in the middle of its work. */
    begun: (id: string) =>
      waiting.has(id) ? Promise.resolve() : new Promise<void>((resolve) => come.set(id, resolve)),
    end: (id: string) => waiting.get(id)?.(),
    underway: () => [...waiting.keys()],
  };
}

/** `a cmd.held parallel require=b` on each line. */
function stateFile(lines: string): string {
  const one = (line: string) => {
    const [id = "", called = "", ...words] = line.trim().split(" ");
    const args = words.map((word) => {
      const [name, value] = word.split("=");
      return value === undefined ? `    - ${name}: true` : `    - ${name}: [{id: ${value}}]`;
    });
    return [`${id}:`, `  ${called}:`, ...args].join("\n");
  };
  return lines
    .trim()
    .split("\n")
    .map(one)
    .join("\n")
    .replaceAll(/:\n(?=\S|$)/g, ": []\n")
    .replace(/:$/, ": []");
}

test("states with parallel run while later ones do, and the results are in order", async () => {
  const run = runOf("a cmd.held parallel\nb cmd.held parallel\nc test.succeed_with_changes");
  await Promise.all([run.begun("a"), run.begun("b")]);
  run.end("b");
  run.end("a");
  const { states, summary } = await run.running;
  expect(run.happened).toEqual(["a begins", "b begins", "b ends", "a ends"]);
  expect(states.map(({ id, order, result }) => [id, order, result])).toEqual([
    ["a", 0, true],
    ["b", 1, true],
    ["c", 2, true],
  ]);
  expect(summary).toMatchObject({ changed: 3, not_run: 0 });
});

test.each(["require", "watch", "onchanges"])("who refers to one by %s waits for its end", async (kind) => {
  const run = runOf(`a cmd.held parallel\nb cmd.held ${kind}=a`);
  await run.begun("a");
  expect(run.happened).toEqual(["a begins"]);
  run.end("a");
  await run.begun("b");
  run.end("b");
  await run.running;
  expect(run.happened).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("what fails in parallel fails who requires it, and failhard ends the run after what is underway", async () => {
  const bad = runOf("bad cmd.held parallel\nb test.nop require=bad");
  await bad.begun("bad");
  bad.end("bad");
  expect((await bad.running).states).toMatchObject([
    { id: "bad", result: false, comment: "unexpected error: it is bad" },
    { id: "b", result: false, skipped: "requisite" },
  ]);
  const hard = runOf(
    "a cmd.held parallel\nbad cmd.held parallel failhard\nc test.nop require=bad\nd test.nop",
  );
  await Promise.all([hard.begun("a"), hard.begun("bad")]);
  hard.end("bad");
  hard.end("a");
  const { states, stopped, summary } = await hard.running;
  expect(states.map(({ id, result }) => [id, result])).toEqual([
    ["a", true],
    ["bad", false],
  ]);
  expect([stopped, summary.not_run]).toEqual(["failhard", 2]);
});

test("the target of a prereq waits for a parallel state that comes before it", async () => {
  const run = runOf("a cmd.held parallel prereq=b\nb cmd.held");
  await run.begun("a");
  expect(run.happened).toEqual(["b begins", "a begins"]);
  run.end("a");
  await run.begun("b");
  run.end("b");
  await run.running;
  expect(run.happened.slice(2)).toEqual(["a ends", "b begins", "b ends"]);
});

test("a prereq waits for the parallel states that its target needs", async () => {
  const run = runOf("n cmd.held parallel\nt cmd.held onchanges=n\nb cmd.held prereq=t");
  await run.begun("n");
  expect(run.happened).toEqual(["n begins"]);
  run.end("n");
  await run.begun("b");
  run.end("b");
  await run.begun("t");
  run.end("t");
  await run.running;
  expect(run.happened.slice(0, 2)).toEqual(["n begins", "n ends"]);
});

test("states that change the same things take turns; what one sees, another does not take over", async () => {
  const run = runOf(
    "a host.held parallel\nb host.held parallel\nc slow.held parallel\nd cmd.held\ne host.held",
  );
  await Promise.all([run.begun("a"), run.begun("c"), run.begun("d")]);
  expect(run.underway()).not.toContain("b");
  for (const id of ["a", "c", "d"]) run.end(id);
  await run.begun("b");
  run.end("b");
  await run.begun("e");
  run.end("e");
  await run.running;
  expect(run.happened.filter((each) => each.includes("stale"))).toEqual([]);
  // d is not parallel, and sets a variable for later states.
  expect(run.happened.filter((each) => each.includes("with X"))).toEqual(["e begins with X"]);
});

test("conditions of a parallel state are judged in its turn, before later states run", async () => {
  const requested: string[] = [];
  const text = "a cmd.held parallel\nb test.nop";
  const run = runOf(text.replace("parallel", "parallel unless"), {
    onStart: ({ id }) => void requested.push(id),
  });
  const { states } = await run.running;
  expect(states[0]).toMatchObject({ id: "a", result: true, skipped: "unless" });
  expect([run.happened, requested]).toEqual([[], ["a", "b"]]);
});

test("no more than 8 run at the same time, and a cancelled run begins no other", async () => {
  const cancel = new AbortController();
  const ids = Array.from({ length: 10 }, (_, at) => `s${at}`);
  const run = runOf(ids.map((id) => `${id} cmd.held parallel`).join("\n"), { signal: cancel.signal });
  await run.begun("s7");
  expect(run.underway()).toHaveLength(8);
  run.end("s3");
  await run.begun("s8");
  cancel.abort();
  for (const id of run.underway()) run.end(id);
  const { stopped, summary, states } = await run.running;
  expect([stopped, summary.not_run, states.length]).toEqual(["cancelled", 1, 9]);
});

test("test mode changes nothing in parallel either", async () => {
  const run = runOf("a cmd.held parallel\nb cmd.held parallel require=a", { test: true });
  const { states } = await run.running;
  expect(states.map(({ result }) => result)).toEqual([null, null]);
  expect(run.happened).toEqual(["a begins", "b begins"]);
});
