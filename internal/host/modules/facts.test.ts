import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import { execute } from "../../agent/execution/execute.ts";
import { functionNamed } from "./registry.ts";

function running(facts = fixedFacts({ os: "Debian", ipv4: ["10.0.0.1"], zone: { name: "eu" } })) {
  const stopping = new AbortController();
  const context = { clock: manualClock(), facts, settings: fixedSettings(), signal: stopping.signal };
  return {
    stopping,
    call: (name: string, args = {}) => execute({ function: name, args }, context),
  };
}

test.each<[string, Record<string, string | null>, unknown]>([
  ["facts.items", {}, { os: "Debian", ipv4: ["10.0.0.1"], zone: { name: "eu" } }],
  ["facts.ls", {}, ["ipv4", "os", "zone"]],
  ["facts.get", { name: "os" }, "Debian"],
  ["facts.get", { name: "zone:name" }, "eu"],
  ["facts.get", { name: "ipv4:0" }, "10.0.0.1"],
  ["facts.get", { name: "missing" }, null],
  ["facts.get", { name: "missing", default: "none" }, "none"],
  ["facts.set", { name: "role", value: "web" }, "web"],
  ["facts.set", { name: "os", value: null }, null],
  ["facts.refresh", {}, false],
])("%s %j", async (name, args, expected) => {
  for (const alias of [name, name.replace("facts.", "grains.")]) {
    expect(await running().call(alias, args)).toMatchObject({ success: true, return: expected });
  }
});

test("all but set change nothing and do not wait in the queue", () => {
  const readOnly = (name: string) => functionNamed(name).readOnly === true;
  for (const verb of ["items", "ls", "get", "refresh"]) {
    expect([readOnly(`facts.${verb}`), readOnly(`grains.${verb}`)]).toEqual([true, true]);
  }
  expect([readOnly("facts.set"), readOnly("grains.set")]).toEqual([false, false]);
});

test("facts.set without a value is rejected, not treated as a removal", async () => {
  expect(await running().call("facts.set", { name: "role" })).toMatchObject({ success: false, retcode: 1 });
});

test("a call that waits for facts ends at its timeout", async () => {
  const never = new Promise<never>(() => {});
  const { call, stopping } = running({ ...fixedFacts({}), ready: never, refresh: () => never });
  const ended = Promise.all([call("facts.items"), call("facts.refresh")]);
  stopping.abort(new Error("its time is over"));
  for (const result of await ended)
    expect(result).toMatchObject({ success: false, error: "its time is over" });
});
