import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import { memoryFiles } from "../../../test/harness/states.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import type { CallContext } from "../../host/modules/function.ts";
import type { CallProgress, StatesRequest } from "../../host/modules/states-service.ts";
import { createRunLock } from "./run-lock.ts";
import { createStatesService, type OpenedFiles } from "./service.ts";

const signal = new AbortController().signal;

function serviceOf(files: Record<string, string>, options: { commits?: string[]; resolved?: boolean } = {}) {
  const opened: unknown[] = [];
  const settings = fixedSettings({ port: 80, db_password: "hunter2" });
  const context = (stop: AbortSignal): CallContext => ({
    clock: systemClock,
    facts: fixedFacts({ id: "web-1", os: "Debian" }),
    settings: {
      ...settings,
      resolved: options.resolved ?? true,
      reason: "settings have never been resolved",
    },
    signal: stop,
  });
  const service = createStatesService({
    peelId: "web-1",
    lock: createRunLock({ now: () => 0 }),
    context,
    clock: systemClock,
    jitter: () => 0,
    random: systemRandom,
    compat: "strict",
    hostAccess: "read",
    sources: {
      async open(...requested): Promise<OpenedFiles> {
        opened.push(requested.slice(0, 2));
        return Object.assign(
          memoryFiles(files),
          options.commits && {
            snapshot: "ab".repeat(32),
            origin: {
              directory: false,
              commits: options.commits.map((commit) => ({ remote: "r", ref: "refs/heads/main", commit })),
            },
          },
        );
      },
    },
  });
  return { service, opened };
}

const run = (files: Record<string, string>, request: StatesRequest = {}) =>
  serviceOf(files).service.run(request, { signal });

const top = "base:\n  'web-*': [a]\n  'I@port:80': [b]\n  'db-*': [c]\n";

test("the highstate is what the top file assigns, with facts and settings of the peel", async () => {
  const ended = await run({
    "top.sls": top,
    "a.sls": "one:\n  test.succeed_with_changes: []\n",
    "b.sls": "two:\n  test.nop:\n    - name: n{{ pillar.port }}\n",
    "c.sls": "three:\n  test.nop: []\n",
  });
  expect(ended).toMatchObject({ environment: "base", test: false, not_run: 0 });
  expect(ended.states.map(({ id, name, at, result }) => [id, name, at, result])).toEqual([
    ["one", "one", "a.sls:2", true],
    ["two", "n80", "b.sls:2", true],
  ]);
});

test("a target of the top file does not find the value of a secret, only its name", async () => {
  const targets = "base:\n  'I@db_password:h*': [a]\n  'I@port:80': [b]\n";
  const files = { "top.sls": targets, "a.sls": "one:\n  test.nop: []\n", "b.sls": "two:\n  test.nop: []\n" };
  expect((await run(files)).states.map(({ id }) => id)).toEqual(["two"]);
});

test("a target in a template does not find the value of a secret either", async () => {
  const found = ["db_password:h*", "port:80"]
    .flatMap((target) => [
      `{{ salt['match.pillar']('${target}') }}`,
      `{{ salt['match.compound']('web-* and I@${target}') }}`,
    ])
    .join(" ");
  const text = `"${found} {{ pillar.db_password == 'hunter2' }}":\n  test.nop: []\n`;
  const { states } = await run({ "a.sls": text }, { mods: ["a"] });
  expect(states.map(({ id }) => id)).toEqual(["False False True True True"]);
});

test("progress is reported before each state", async () => {
  const received: CallProgress[] = [];
  const files = { "a.sls": "x:\n  test.fail_without_changes: []\ny:\n  test.nop: []\n" };
  await serviceOf(files).service.run(
    { mods: ["a"] },
    { signal, progress: (progress) => void received.push(progress) },
  );
  expect(received).toEqual([
    { done: 0, total: 2, failed: 0, current: "test.fail_without_changes x" },
    { done: 1, total: 2, failed: 1, current: "test.nop y" },
  ]);
});

test("environment and commit come from the request, and the commit is in the result", async () => {
  const { service, opened } = serviceOf({ "a.sls": "x:\n  test.nop: []\n" }, { commits: ["abc1234"] });
  const ended = await service.run({ mods: ["a"], environment: "dev", commit: "abc" }, { signal });
  expect(opened).toEqual([["dev", { commit: "abc" }]]);
  expect(ended).toMatchObject({ commit: "abc1234", snapshot: "ab".repeat(32) });
});

test("a run is bound to the digest of its files", async () => {
  const { service, opened } = serviceOf({ "a.sls": "x:\n  test.nop: []\n" });
  await service.run({ mods: ["a"], environment: "dev", snapshot: "cd".repeat(32) }, { signal });
  expect(opened).toEqual([["dev", { snapshot: "cd".repeat(32) }]]);
});

test("nothing runs without settings, and the reason is reported", async () => {
  const { service, opened } = serviceOf({}, { resolved: false });
  await expect(service.run({}, { signal })).rejects.toThrow(
    "states are not run: settings have never been resolved",
  );
  expect(opened).toEqual([]);
});

test("all problems of the files are reported with excerpts", async () => {
  const files = { "a.sls": "x:\n  test.nop:\n    - colour: 1\n", "b.sls": "y: {test.nop: [{shape: 1}]}\n" };
  const failed = run(files, { mods: ["a", "b"] });
  await expect(failed).rejects.toThrow('a.sls:3: test.nop: unknown argument "colour"');
  await expect(failed).rejects.toThrow(">     3 |     - colour: 1");
  await expect(failed).rejects.toThrow('b.sls:1: test.nop: unknown argument "shape"');
});

test("a word that is true in Salt stays a text, and the run says where it is", async () => {
  const text = "x:\n  test.succeed_with_changes:\n    - comment: yes\n";
  const ended = await run({ "a.sls": text }, { mods: ["a"] });
  expect(ended).toMatchObject({
    states: [{ result: true, comment: "yes" }],
    warnings: ['a.sls:3: yes is a text here, and true in Salt: write true, or "yes" with quotes'],
  });
  expect(await run({ "a.sls": "x: test.nop\n" }, { mods: ["a"] })).not.toHaveProperty("warnings");
});

test("one state is run from text as well as from data, and needs no file", async () => {
  const single = (args: Record<string, string | boolean>) =>
    run({}, { single: { function: "test.configurable_test_state", name: "x", args }, test: true });
  expect((await single({ changes: "true" })).states[0]).toMatchObject({ id: "x", result: null });
  expect((await single({ changes: false })).states[0]).toMatchObject({ id: "x", result: true });
  expect((await single({})).states[0]).not.toHaveProperty("at");
  await expect(single({ changes: "maybe" })).rejects.toThrow("changes: expected true or false");
  await expect(run({}, { single: { function: "test.nope", name: "x", args: {} } })).rejects.toThrow(
    "did you mean test.nop?",
  );
});

test("a concurrent run is rejected with the name of the active one", async () => {
  const { service } = serviceOf({ "a.sls": "x:\n  test.nop: []\n" });
  const first = service.run({ mods: ["a"] }, { signal });
  await expect(service.run({ test: true }, { signal })).rejects.toThrow("state.sls a, since");
  expect((await first).states).toHaveLength(1);
});

test("the files are shown as rendered for the peel", async () => {
  const { service } = serviceOf({
    "top.sls": top,
    "a.sls": "x:\n  test.nop:\n    - require: [test: y]\n",
    "b.sls": "y:\n  test.nop: []\n",
  });
  expect(await service.show("top", {}, { signal })).toEqual({ base: ["a", "b"] });
  expect(await service.show("states", {}, { signal })).toMatchObject([
    { id: "y", at: "b.sls:2" },
    { id: "x", at: "a.sls:2", requisites: [{ require: "test: y" }] },
  ]);
});

test("sys.list_state_functions lists state functions with their arguments", async () => {
  const { service } = serviceOf({});
  const list = (pattern?: string) =>
    callFunction("sys.list_state_functions", pattern === undefined ? {} : { pattern }, { states: service });
  const [nop, ...more] = (await list("test.nop")) as { name: string }[];
  expect([nop?.name, more]).toEqual(["test.nop", []]);
  const names = ((await list()) as { name: string }[]).map(({ name }) => name);
  expect(names).toContain("file.managed");
  expect(names).toEqual([...names].sort());
});

test("sys.doc describes state functions next to the functions of the same name", async () => {
  const { service } = serviceOf({});
  const doc = (pattern: string) => callFunction("sys.doc", { pattern }, { states: service });
  const managed = (await doc("file.managed")) as Record<string, string>;
  expect(Object.keys(managed)).toEqual(["file.managed"]);
  expect(managed["file.managed"]).toStartWith("file.managed (state function)\n\n");
  expect(managed["file.managed"]).toContain("\n  source (");
  const both = (await doc("cmd.run")) as Record<string, string>;
  expect(both["cmd.run"]).toMatch(/^cmd\.run [\s\S]*\n\ncmd\.run \(state function\)\n\n/);
  expect(await doc("none*")).toEqual({});
});

test("what templates asked of the host is counted in the result", async () => {
  const text =
    "{% for u in ['root', 'none'] %}\n{{ u }}-{{ salt['user.info'](u)|length }}: test.nop\n{% endfor %}";
  const ended = await run({ "a.sls": text }, { mods: ["a"] });
  expect(ended.host_calls).toEqual({ "user.info": 2 });
  expect(await run({ "a.sls": "x: test.nop" }, { mods: ["a"] })).not.toHaveProperty("host_calls");
  await expect(run({ "a.sls": "{{ salt['cmd.run']('id') }}" }, { mods: ["a"] })).rejects.toThrow(
    "a.sls:1:19: salt['cmd.run'] is not allowed here: it needs templates.host_functions: command",
  );
});
