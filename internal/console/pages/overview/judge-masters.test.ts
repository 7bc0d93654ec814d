import { expect, test } from "bun:test";
import { judgeMasters } from "./judge-masters.ts";

const since = "2026-03-02T10:00:00Z";
const master = (
  name: string,
  readiness: "up" | "degraded" | "down" | "silent" | "unknown",
  leases: string[] = [],
  rollouts = 0,
) => ({
  ...{ name, readiness, leases, rollouts, since, hostname: name, version: "1.0.0", answers: false },
  keys: { command_keys: [], signs_with: "", account_keys: [], issues_with: "" },
});

test("masters that need a look come first, then those that hold nothing, then the others", () => {
  const { masters, ready } = judgeMasters({
    masters: [
      master("a", "up", ["publisher", "another"], 1),
      master("b", "up"),
      master("c", "degraded", ["reactor"]),
      master("d", "silent", [], 2),
      master("e", "down"),
      master("f", "unknown"),
    ],
    leases: [],
  });
  expect(masters.map(({ name, word, duties }) => [name, word, duties])).toEqual([
    ["d", "silent", ["drives 2 rollouts"]],
    ["e", "not ready", []],
    ["c", "degraded", ["runs the reactor"]],
    ["f", "not known", []],
    ["b", "ready", []],
    ["a", "ready", ["publishes state files", "holds another", "drives 1 rollout"]],
  ]);
  expect(ready).toBe(3);
});

test("a lease whose holder is not among the masters is reported", () => {
  const { lost } = judgeMasters({
    masters: [master("a", "up", ["publisher"])],
    leases: [
      { name: "publisher", holder: "a", token: 1 },
      { name: "facts-secrets", holder: "gone", token: 2 },
    ],
  });
  expect(lost).toEqual([{ lease: "facts-secrets", holder: "gone" }]);
});
