import { describe, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { compileOptions, runOptions } from "../../../test/harness/states.ts";
import { FunctionFailure } from "../../host/modules/mod.ts";
import type { Changes, Plan, StateContext, StateFunction } from "../function/function.ts";
import { StateFailure } from "../function/function.ts";
import type { StateRegistry } from "../functions/registry.ts";
import { testStates } from "../functions/test.ts";
import { compileStates } from "../language/compile.ts";
import { type RunOptions, runStates } from "./run.ts";

/** Runs one file; `extra` are state functions of the module `my`. */
async function run(
  text: string,
  options: Partial<RunOptions> = {},
  extra: StateFunction[] = [],
  compat: "strict" | "salt" = "strict",
) {
  const all = [...testStates, ...extra];
  const registry: StateRegistry = {
    functionsOf: async (module) => all.filter(({ name }) => name.startsWith(`${module}.`)),
    all: async () => all,
  };
  const compiled = await compileStates(compileOptions({ "a.sls": text }, { registry, compat }), ["a"]);
  return runStates(compiled, runOptions(options));
}

async function brief(text: string, options: Partial<RunOptions> = {}, extra: StateFunction[] = []) {
  const { states } = await run(text, options, extra);
  return states
    .map(({ id, result, changes }) => `${id}:${result}${Object.keys(changes).length > 0 ? "+" : ""}`)
    .join(" ");
}

function my(name: string, plan: StateFunction["plan"], rest: Partial<StateFunction> = {}): StateFunction {
  return { name: `my.${name}`, doc: "", args: {}, plan, ...rest };
}

const ok = "test.nop";
const change = "test.succeed_with_changes";
const fail = "test.fail_without_changes";
/** A state `c` with this requisite on two states, in two entries of its list. */
const list = (a: string, b: string, kind: string, c: string) =>
  `a: ${a}\nb: ${b}\nc:\n  ${c}:\n    - ${kind}:\n      - test: a\n      - test: b`;
/** A state `b` with this requisite on a state `a` of this function. */
const pair = (a: string, kind: string, b: string) => `a: ${a}\nb:\n  ${b}:\n    - ${kind}: [{test: a}]`;

test.each<[string, string, string]>([
  [`a: ${ok}`, "a:true", "a:true"],
  [`a: ${change}`, "a:true+", "a:null+"],
  ["a: test.fail_with_changes", "a:false+", "a:null+"],
  [pair(fail, "require", ok), "a:false b:false", "a:false b:false"],
  [pair(change, "onchanges", change), "a:true+ b:true+", "a:null+ b:null+"],
  [pair(ok, "onchanges", change), "a:true b:true", "a:true b:true"],
  [list(fail, ok, "require_any", ok), "a:false b:true c:true", "a:false b:true c:true"],
  [list(fail, fail, "require_any", ok), "a:false b:false c:false", "a:false b:false c:false"],
  [list(fail, change, "watch_any", ok), "a:false b:true+ c:true+", "a:false b:null+ c:null+"],
  [list(fail, change, "onchanges_any", change), "a:false b:true+ c:true+", "a:false b:null+ c:null+"],
  [list(fail, ok, "onfail_all", change), "a:false b:true c:true", "a:false b:true c:true"],
  [list(fail, fail, "onfail_all", change), "a:false b:false c:true+", "a:false b:false c:null+"],
  [pair(fail, "onfail", change), "a:false b:true+", "a:false b:null+"],
  [pair(change, "onfail", change), "a:true+ b:true", "a:null+ b:true"],
  [pair(change, "watch", ok), "a:true+ b:true+", "a:null+ b:null+"],
  [pair(ok, "watch", ok), "a:true b:true", "a:true b:true"],
  // A state without an action for watch behaves as with require.
  [pair(change, "watch", "test.succeed_without_changes"), "a:true+ b:true", "a:null+ b:true"],
  [pair(change, "prereq", change), "b:true+ a:true+", "b:null+ a:null+"],
  [pair(ok, "prereq", change), "b:true a:true", "b:true a:true"],
  [pair(change, "prereq", fail), "b:false a:false", "b:false a:false"],
  [pair(change, "listen", ok), "a:true+ b:true listener_b:true+", "a:null+ b:true listener_b:null+"],
  [pair(ok, "listen", ok), "a:true b:true", "a:true b:true"],
  [
    `x:\n  test.nop:\n    - listen: [{test: a}, {test: b}]\na: ${change}\nb: ${change}`,
    "x:true a:true+ b:true+ listener_x:true+",
    "x:true a:null+ b:null+ listener_x:null+",
  ],
  // Failures propagate along a chain, and independent states run.
  [
    `a: ${fail}\nb:\n  test.nop:\n    - require: [a]\nc:\n  test.nop:\n    - require: [b]\nd: ${ok}`,
    "a:false b:false c:false d:true",
    "a:false b:false c:false d:true",
  ],
  [`a:\n  ${fail}:\n    - failhard: true\nb: ${ok}`, "a:false", "a:false"],
  [`a:\n  ${change}:\n    - onlyif: "false"`, "a:true", "a:true"],
  [`a:\n  ${change}:\n    - onlyif: ["true", "true"]\n    - unless: ["true", "false"]`, "a:true+", "a:null+"],
  [`a:\n  ${change}:\n    - unless: ["true", true]`, "a:true", "a:true"],
])("%j", async (text, applied, tested) => {
  expect(await brief(text)).toBe(applied);
  expect(await brief(text, { test: true })).toBe(tested);
});

describe("test mode", () => {
  test("applies nothing", async () => {
    let applied = 0;
    const both: Plan = {
      changes: { x: "y" },
      comment: "would",
      apply: async () => void applied++ as undefined,
    };
    const extra = [my("state", () => both, { onWatch: () => both })];
    const text = `a: ${change}\nb:\n  my.state:\n    - watch: [{test: a}]\n    - retry: true\nc:\n  my.state:\n    - prereq: [{my: b}]\n    - listen: [{test: a}]`;
    await run(text, { test: true }, extra);
    expect(applied).toBe(0);
    await run(text, {}, extra);
    expect(applied).toBe(3);
  });
});

describe("conditions", () => {
  test("may call a function of the peel", async () => {
    const requested: unknown[] = [];
    const call: RunOptions["call"] = async (name, args) => {
      requested.push([name, args]);
      return args.path === "/there";
    };
    const text = (path: string) =>
      `a:\n  ${change}:\n    - onlyif:\n      - fun: file.exists\n        path: ${path}`;
    expect(await brief(text("/there"), { call })).toBe("a:true+");
    expect(await brief(text("/gone"), { call })).toBe("a:true");
    expect(requested).toEqual([
      ["file.exists", { path: "/there" }],
      ["file.exists", { path: "/gone" }],
    ]);
  });

  test("that cannot be evaluated fail the state", async () => {
    const { states } = await run(`a:\n  ${change}:\n    - unless: {fun: no.such}`);
    expect(states[0]).toMatchObject({ result: false, comment: "unknown function no.such" });
  });

  const isRoot = process.getuid?.() === 0;

  test.each<[string, string, boolean, boolean]>([
    ["cwd: /etc", "test -f passwd", true, false],
    ["cwd: /", "test -f passwd", false, true],
    ["env: {FOO: bar}", 'test "$FOO" = bar', true, false],
    ["env: [{FOO: bar}, {BAR: 1}]", 'test "$FOO$BAR" = bar1', true, false],
    ["env: {HOME: null}", 'test -z "$HOME"', true, false],
    ["umask: '077'", "test $(umask) = 0077", true, false],
    ["shell: /bin/echo", "exit 1", true, false],
    ["success_retcodes: [3]", "exit 3", true, false],
    ["timeout: 0.05", "trap 'exit 0' TERM; sleep 60 & wait", false, true],
    ["runas: nobody", 'test "$(id -un) $USER" = "nobody nobody"', isRoot, false],
    // A command that cannot be started keeps the state from running in both cases.
    ["cwd: /no/such/directory", "true", false, false],
    ["runas: no-such-user", "true", false, false],
  ])("of cmd states run with %s: %s", async (arg, command, ranWithOnlyif, ranWithUnless) => {
    const cmd: StateFunction = {
      ...{ name: "cmd.mine", doc: "", args: {}, openArgs: { type: "any", doc: "" } },
      plan: () => ({ changes: {}, comment: "it ran" }),
    };
    const ran = async (kind: string) => {
      const text = `a:\n  cmd.mine:\n    - ${arg}\n    - ${kind}: ${JSON.stringify(command)}`;
      return (await run(text, {}, [cmd])).states[0]?.skipped === undefined;
    };
    expect([await ran("onlyif"), await ran("unless")]).toEqual([ranWithOnlyif, ranWithUnless]);
  });

  test("whose command cannot be started give the reason", async () => {
    const state = `a:\n  my.state:\n    - cwd: /no/such/directory\n    - unless: "true"`;
    const mine = my("state", () => ({ changes: {}, comment: "" }), { openArgs: { type: "any", doc: "" } });
    const { states } = await run(state, {}, [mine]);
    expect(states[0]).toMatchObject({
      result: true,
      skipped: "unless",
      comment: "not run: the command of unless cannot be started: cwd: /no/such/directory is not a directory",
    });
  });

  test("of the target of a prereq count for it", async () => {
    const text = `a:\n  ${change}:\n    - onlyif: "false"\nb:\n  ${change}:\n    - prereq: [{test: a}]`;
    expect(await brief(text)).toBe("b:true a:true");
  });
});

describe("a prereq holds only if its target is going to run", () => {
  /** `b` before a target `t` with this requisite on `n`. */
  const before = (n: string, kind: string, more = "") =>
    `b:\n  ${change}:\n    - prereq: [{test: t}]\nt:\n  ${change}:\n    - ${kind}: [{test: n}]${more}\nn: ${n}`;

  test.each<[what: string, text: string, applied: string]>([
    ["onchanges", before(ok, "onchanges"), "n:true b:true t:true"],
    ["onchanges of a change", before(change, "onchanges"), "n:true+ b:true+ t:true+"],
    ["onchanges_any", before(ok, "onchanges_any"), "n:true b:true t:true"],
    ["onchanges_any of a change", before(change, "onchanges_any"), "n:true+ b:true+ t:true+"],
    ["onfail", before(ok, "onfail"), "n:true b:true t:true"],
    ["onfail of a failure", before(fail, "onfail"), "n:false b:true+ t:true+"],
    ["onfail_all", before(ok, "onfail_all"), "n:true b:true t:true"],
    ["require of a failure", before(fail, "require"), "n:false b:true t:false"],
    ["require_any of a failure", before(fail, "require_any"), "n:false b:true t:false"],
    ["watch of a failure", before(fail, "watch"), "n:false b:true t:false"],
    ["require", before(ok, "require"), "n:true b:true+ t:true+"],
    [
      "an inverse form",
      `b:\n  ${change}:\n    - prereq: [{test: t}]\nt: ${change}\nm:\n  ${ok}:\n    - onchanges_in: [t]`,
      "m:true b:true t:true",
    ],
    [
      "the target of a target",
      `a:\n  ${change}:\n    - prereq: [{test: b}]\n${before(ok, "onchanges")}`,
      "n:true a:true b:true t:true",
    ],
    [
      "the target of a target that is going to change",
      `a:\n  ${change}:\n    - prereq: [{test: b}]\n${before(change, "onchanges")}`,
      "n:true+ a:true+ b:true+ t:true+",
    ],
    [
      "one of two targets",
      `${before(ok, "onchanges")}\nt2: ${change}\nc:\n  ${change}:\n    - prereq: [{test: t}, {test: t2}]`,
      "n:true c:true+ b:true t:true t2:true+",
    ],
    [
      "what waits for the state itself",
      `b:\n  ${change}:\n    - prereq: [{test: t}]\nt:\n  ${change}:\n    - onchanges: [{test: x}]\nx:\n  ${change}:\n    - require: [{test: b}]`,
      "b:true+ x:true+ t:true+",
    ],
  ])("%s", async (_, text, applied) => {
    expect(await brief(text)).toBe(applied);
    expect(await brief(text, { test: true })).toBe(applied.replaceAll("true+", "null+"));
  });

  test("in a chain of any length", async () => {
    const links = Array.from(
      { length: 60 },
      (_, at) => `s${at}:\n  ${change}:\n    - prereq: [{test: s${at + 1}}]`,
    );
    const { states } = await run(`${links.join("\n")}\ns60: ${change}`);
    expect(states.map(({ changes }) => Object.keys(changes).length)).toEqual(states.map(() => 1));
  });
});

describe("failures", () => {
  test("keep the changes made before, and an unexpected one has its message", async () => {
    const extra = [
      my("half", () => ({
        changes: { a: 1, b: 2 },
        comment: "",
        apply: () => Promise.reject(new StateFailure("no room for b", { a: 1 })),
      })),
      my("broken", () => {
        throw new TypeError("x is not a function");
      }),
    ];
    const { states, summary } = await run("h: my.half\nb: my.broken", {}, extra);
    expect(states).toMatchObject([
      { result: false, comment: "no room for b", changes: { a: 1 } },
      { result: false, comment: "unexpected error: x is not a function", changes: {} },
    ]);
    expect(summary).toMatchObject({ failed: 2, not_run: 0 });
  });

  test("failhard ends the run and reports it", async () => {
    const report = await run(`a: ${fail}\nb: ${ok}\nc: ${ok}`, { failhard: true });
    expect(report).toMatchObject({ stopped: "failhard", summary: { failed: 1, not_run: 2 } });
  });
});

describe("retry", () => {
  const flaky = (succeedsAt: number) => {
    let attempts = 0;
    const state = my("flaky", () => {
      if (++attempts < succeedsAt) throw new StateFailure("not yet");
      return { changes: {}, comment: "done" };
    });
    return { state, count: () => attempts };
  };
  const text = "a:\n  my.flaky:\n    - retry: {attempts: 3, interval: 10, splay: 4}";

  /** Advances the clock whenever the run waits for it. */
  async function timed(state: StateFunction, source: string) {
    const clock = manualClock();
    const waits: number[] = [];
    const after = clock.after.bind(clock);
    const running = run(
      source,
      {
        jitter: () => 0.5,
        clock: {
          ...clock,
          now: clock.now,
          monotonic: clock.monotonic,
          every: clock.every,
          after(ms, call) {
            waits.push(ms);
            const timer = after(ms, call);
            queueMicrotask(() => clock.advance(ms));
            return timer;
          },
        },
      },
      [state],
    );
    return { report: await running, waits };
  }

  test("tries again until it succeeds", async () => {
    const { state, count } = flaky(2);
    const { report, waits } = await timed(state, text);
    expect(report.states[0]).toMatchObject({
      result: true,
      comment: "done (attempt 2)",
      duration_ms: 12_000,
    });
    expect([count(), waits]).toEqual([2, [12_000]]);
  });

  test("gives up after the last attempt", async () => {
    const { state, count } = flaky(9);
    const { report } = await timed(state, text);
    expect(report.states[0]).toMatchObject({ result: false, comment: "not yet (attempt 3)" });
    expect(count()).toBe(3);
  });

  test.each([0, 1])("with %i attempts runs the state once, and the others as well", async (attempts) => {
    const { state, count } = flaky(9);
    const { report, waits } = await timed(
      state,
      `a:\n  my.flaky:\n    - retry: {attempts: ${attempts}}\nb: ${ok}`,
    );
    expect(report.states).toMatchObject([
      { result: false, comment: "not yet" },
      { id: "b", result: true },
    ]);
    expect([count(), waits]).toEqual([1, []]);
  });
});

describe("the caller", () => {
  test("is notified when a state ends", async () => {
    const received: string[] = [];
    await run(`a: ${ok}\nb: ${ok}`, {
      onProgress: ({ id }, planned) => received.push(`${id} of ${planned}`),
    });
    expect(received).toEqual(["a of 2", "b of 2"]);
  });

  test("can end the run: the running state and all later ones", async () => {
    const controller = new AbortController();
    const waits = my("waits", async (_, __, { signal }: StateContext) => {
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
      controller.abort();
      return aborted;
    });
    const report = await run(`a: my.waits\nb: ${ok}`, { signal: controller.signal }, [waits]);
    expect(report).toMatchObject({
      stopped: "cancelled",
      states: [{ id: "a", result: false, comment: "stopped: the run was cancelled" }],
      summary: { failed: 1, not_run: 1 },
    });
  });
});

test("states render templates with facts, settings and their own variables", async () => {
  const extra = [
    my("rendered", async (name, _, context) => ({
      changes: {},
      comment: await context.render({ name: "t.j2", text: `\n{{ facts.os }} ${name}` }, { who: "ann" }),
    })),
  ];
  const { states } = await run(
    "'{{ \"{{ who }}\" }}': my.rendered\n'{{ \"{{ oops }}\" }}': my.rendered",
    {},
    extra,
  );
  expect(states.map(({ result, comment }) => [result, comment])).toEqual([
    [true, "\nDebian ann"],
    [false, "t.j2:2:19: undefined: oops"],
  ]);
});

test("a test run takes what a state rehearses, and a run does not rehearse", async () => {
  const states = (changes: Changes) => {
    const plan: Plan = {
      changes: { run: "x" },
      comment: "would run: x",
      apply: async () => ({ changes: { ran: "x" }, comment: "ran: x" }),
      rehearse: async () => ({ changes, comment: "said" }),
    };
    return [my("stateful", () => plan)];
  };
  const text = `a: my.stateful\nb:\n  ${change}:\n    - prereq: [{my: a}]`;
  expect(await brief(text, { test: true }, states({}))).toBe("b:true a:true");
  expect(await brief(text, { test: true }, states({ user: "ann" }))).toBe("b:null+ a:null+");
  expect(await brief("a: my.stateful", {}, states({}))).toBe("a:true+");
});

test("check_cmd decides about a state that failed, that was skipped, and that acts on a change", async () => {
  const state = (called: string, ...lines: string[]) => `a:\n  ${called}:\n    - ${lines.join("\n    - ")}`;
  expect(await brief(state(fail, "check_cmd: 'true'"))).toBe("a:true");
  expect(await brief(state(fail, "check_cmd: ['true', 'false']"))).toBe("a:false");
  expect(await brief(state(fail, "check_cmd: 'true'"), { test: true })).toBe("a:false");
  expect(await brief(state(change, "unless: 'true'", "check_cmd: 'false'"))).toBe("a:false");
  expect(await brief(state(change, "unless: 'true'", "check_cmd: 'true'", "parallel: true"))).toBe("a:true");
  expect(await brief(state(change, "unless: 'true'", "check_cmd: 'false'", "parallel: true"))).toBe(
    "a:false",
  );
  const { states } = await run(state(fail, "check_cmd: 'true'"));
  expect(states[0]?.comment).toStartWith("check_cmd succeeded after a failure: ");
  const broken = my("broken", () => {
    throw new TypeError("oops");
  });
  expect(await brief(state("my.broken", "check_cmd: 'true'"), {}, [broken])).toBe("a:false");
  const watcher = (check: string) =>
    `a: ${change}\nb:\n  cmd.wait:\n    - name: exit 1\n    - watch: [{test: a}]\n    - check_cmd: '${check}'`;
  const { cmdStates } = await import("../functions/command/cmd.ts");
  const call: RunOptions["call"] = async () => {
    throw new FunctionFailure("exited with 1", { retcode: 1 }, 1);
  };
  expect(await brief(watcher("true"), { call }, [...cmdStates])).toBe("a:true+ b:true+");
  expect(await brief(watcher("false"), { call }, [...cmdStates])).toBe("a:true+ b:false+");
});

test("check_cmd decides whether a state that ran has succeeded, and creates whether it runs", async () => {
  const state = (line: string) => `a:\n  ${change}:\n    - ${line}`;
  expect(await brief(state("check_cmd: 'true'"))).toBe("a:true+");
  expect(await brief(state("check_cmd: ['true', 'false']"))).toBe("a:false+");
  expect(await brief(state("check_cmd: 'false'"), { test: true })).toBe("a:null+");
  expect(await brief(state("creates: /"))).toBe("a:true");
  expect(await brief(state("creates: [/, /no/such/file]"))).toBe("a:true+");
  const { states } = await run(state("creates: /"));
  expect(states[0]).toMatchObject({ skipped: "creates", comment: "not run: / exists" });
});

test("fire_event tells what became of a state, and a state does not fail with its event", async () => {
  const events: unknown[] = [];
  const call: RunOptions["call"] = async (name, args) => {
    events.push([name, args]);
    return true;
  };
  const text = `a:\n  ${change}:\n    - fire_event: deploy/done\nb:\n  ${ok}:\n    - fire_event: true`;
  expect(await brief(text, { call, test: true })).toBe("a:null+ b:true");
  expect(events).toEqual([]);
  expect(await brief(text, { call })).toBe("a:true+ b:true");
  const data = { id: "a", name: "a", function: change, result: true, changed: true };
  expect(events).toEqual([
    ["event.send", { tag: "deploy/done", data }],
    [
      "event.send",
      { tag: "state/result", data: { ...data, id: "b", name: "b", function: ok, changed: false } },
    ],
  ]);
  const { states } = await run(text);
  expect(states[0]).toMatchObject({
    result: true,
    comment: expect.stringContaining("the event was not sent"),
  });
});

test("variables of environ.setenv reach later commands of the run, and nothing else", async () => {
  const { environStates } = await import("../functions/system/environ.ts");
  const text = `a:\n  environ.setenv:\n    - value: {SVC_TEST: one}\nb:\n  ${change}:\n    - onlyif: test "$SVC_TEST" = one\nc:\n  environ.setenv:\n    - name: SVC_TEST\n    - value: false\n    - false_unsets: true\nd:\n  ${change}:\n    - onlyif: test -n "$SVC_TEST"`;
  expect(await brief(text, {}, [...environStates])).toBe("a:true b:true+ c:true d:true");
  expect(process.env.SVC_TEST).toBeUndefined();
});

test("in the mode of Salt, a state that refers to none fails, and the others run", async () => {
  const text = "a:\n  test.nop:\n    - onchanges: [{file: none}]\nb: test.nop\n";
  const { states } = await run(text, {}, [], "salt");
  expect(states.map(({ id, result, comment }) => [id, result, comment])).toEqual([
    ["a", false, "not run: file: none, which does not exist, failed"],
    ["b", true, expect.anything()],
  ]);
});
