import { expect, test } from "bun:test";
import type { Plain } from "../../base/msgpack.ts";
import { statesReturn } from "../../host/modules/state-return.ts";
import type { StateResult } from "../../host/modules/states-service.ts";
import { showStates } from "./show-states.ts";

const state = (id: string, more: Partial<StateResult> = {}): StateResult => ({
  id,
  function: "file.managed",
  name: id,
  at: "web:3",
  result: true,
  changes: {},
  comment: `${id} is in the desired state`,
  duration_ms: 1,
  ...more,
});
const returned = (states: StateResult[], test = false): Plain =>
  statesReturn({ states, environment: "base", test, not_run: 0, duration_ms: 1_234 });

test("what changed and what failed is shown, the failed last, and the others are counted", () => {
  const shown = showStates(
    returned([
      state("one"),
      state("broken", { result: false, comment: "no such user: web", changes: {} }),
      state("motd", {
        name: "/etc/motd",
        comment: "updated",
        changes: { "/etc/motd": { diff: "@@ -1 +1 @@\n-old\n+new\n", mode: "0644" } },
      }),
      state("later", { skipped: "requisite", comment: "one of its requisites failed" }),
      state("nginx", { function: "pkg.installed", changes: { nginx: { old: null, new: "1.22" } } }),
    ]),
  );
  expect(shown?.line).toBe("2 changed, 1 failed, 1 skipped, 1 ok (1.2 s)");
  expect(shown?.details).toEqual([
    "changed: file.managed /etc/motd (motd)  [web:3]",
    "  updated",
    "  /etc/motd:",
    "    mode: 0644",
    "  @@ -1 +1 @@",
    "  -old",
    "  +new",
    "skipped: file.managed later  [web:3]",
    "  one of its requisites failed",
    "changed: pkg.installed nginx  [web:3]",
    "  nginx is in the desired state",
    "  nginx:",
    "    old: null",
    "    new: 1.22",
    "FAILED: file.managed broken  [web:3]",
    "  no such user: web",
  ]);
});

test("warnings come first", () => {
  const warnings = ["a.sls:3: yes is a text here"];
  const value = statesReturn({
    states: [state("motd", { changes: { a: 1 }, comment: "" })],
    ...{ environment: "base", test: false, not_run: 0, duration_ms: 1, warnings },
  });
  expect(showStates(value)?.details[0]).toBe("warning: a.sls:3: yes is a text here");
});

test("a test run says what would change", () => {
  const shown = showStates(returned([state("motd", { result: null, changes: { mode: "0600" } })], true));
  expect(shown?.line).toBe("1 would change (1.2 s)");
  expect(shown?.details).toEqual([
    "would change: file.managed motd  [web:3]",
    "  motd is in the desired state",
    "  mode: 0600",
  ]);
});

test("no states are said to be none, and what a peel sends cannot act on the terminal", () => {
  expect(showStates(returned([]))?.line).toBe("no states (1.2 s)");
  const shown = showStates(returned([state("\u001b[2J", { result: false, comment: "\u001b[2J" })]));
  expect(shown?.details.join("\n")).not.toContain("\u001b");
});

test("any other return is not a run of states", () => {
  const others: Plain[] = [
    null,
    "text",
    [],
    {},
    { states: [], summary: {} },
    { states: "x", summary: { ok: 1 } },
  ];
  for (const value of others) expect(showStates(value)).toBeUndefined();
});
