import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import { functionNamed } from "./registry.ts";

function zoneOf(known: Record<string, string | number> = {}) {
  const set: [string, unknown][] = [];
  const facts = { ...fixedFacts(known), set: (name: string, value: unknown) => void set.push([name, value]) };
  const noon = new Date(2026, 10, 7, 12).getTime();
  const context = {
    ...{ clock: { ...manualClock(), now: () => noon }, facts, settings: fixedSettings() },
    signal: new AbortController().signal,
  };
  const serial = (args: { zone?: string; update?: boolean }) =>
    functionNamed("dnsutil.serial").run(args, context);
  return { set, serial };
}

test.each([
  [{}, "2026110701"],
  [{ "dnsserial_example.com": "2026110603" }, "2026110701"],
  [{ "dnsserial_example.com": 2026110701 }, "2026110702"],
  [{ "dnsserial_example.com": "2026120199" }, "2026120200"],
])("after %j comes %s", async (known, raised) => {
  const { serial, set } = zoneOf(known);
  const [stored = "2026110701"] = Object.values(known);
  expect(await serial({ zone: "example.com" })).toBe(String(stored));
  expect(set).toEqual([]);
  expect(await serial({ zone: "example.com", update: true })).toBe(raised);
  expect(set).toEqual([["dnsserial_example.com", raised]]);
});

test("without a zone there is one serial", async () => {
  const { serial, set } = zoneOf();
  expect(await serial({ update: true })).toBe("2026110701");
  expect(set).toEqual([["dnsserial", "2026110701"]]);
});
