import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { createFactPacker } from "../../tree/targets/mod.ts";
import type { Member } from "../enrollment/store/mod.ts";
import { type Call, invoke, type RawRequest } from "../operation/mod.ts";
import { type ExportDeps, exportInventory, listPrometheusTargets } from "./operations.ts";

const packer = createFactPacker();

/** A fleet in memory, of which each peel has these facts. */
function fleetOf(factsOf: Record<string, Plain>) {
  const members = Object.keys(factsOf);
  const member: Member = { id: "enr-1", state: "active", address: "192.0.2.7", labels: { env: "prod" } };
  const packed = new Map(members.map((id) => [id, packer.pack(factsOf[id] ?? null).facts]));
  const deps: ExportDeps = {
    directory: {
      members: () => members,
      memberOf: (peelId) => (peelId === "gone" ? undefined : member),
    },
    index: { running: true, caughtUp: async () => {}, factsOf: (peelId) => packed.get(peelId) },
    resolver: { resolve: async () => [...members] },
    addresses: { of: (peelId) => (peelId === "moved" ? "2001:db8::1" : undefined) },
  };
  const call: Call = {
    caller: { kind: "operator", name: "ann", door: "rest" },
    ...{ log: recordingLog(), clock: manualClock() },
  };
  return {
    targets: (fields: RawRequest["fields"] = {}, own: Partial<ExportDeps> = {}) =>
      invoke(listPrometheusTargets, { ...deps, ...own }, { fields }, call),
    inventory: (fields: RawRequest["fields"], answerBytes = 1_000_000) =>
      invoke(exportInventory, deps, { fields }, { ...call, answerBytes }),
  };
}

test("a peel is a target at the address from which it connects, and otherwise from which it asked to join", async () => {
  const fleet = fleetOf({ moved: {}, stayed: {} });
  expect((await fleet.targets()).targets.map(({ targets }) => targets)).toEqual([
    ["[2001:db8::1]:9100"],
    ["192.0.2.7:9100"],
  ]);
  const { peels } = await fleet.inventory({});
  expect(peels.map(({ address }) => address)).toEqual(["2001:db8::1", "192.0.2.7"]);
});

test("each peel is a target with the chosen facts, but not one that left a moment ago", async () => {
  const fleet = fleetOf({ gone: {}, "web-1_example": { os: "Debian", dns: { servers: ["192.0.2.1"] } } });
  const { targets } = await fleet.targets({ port: 9256, fact: ["os", "dns:servers:0", "dns:none", "dns"] });
  expect(targets).toEqual([
    {
      targets: ["192.0.2.7:9256"],
      labels: {
        ...{ __meta_svc_peel: "web-1.example", __meta_svc_label_env: "prod" },
        ...{ __meta_svc_fact_os: "Debian", __meta_svc_fact_dns_servers_0: "192.0.2.1" },
      },
    },
  ]);
});

test.each([
  ["a port", { port: 65_536 }, "port must be 1 to 65535"],
  [
    "too many facts",
    { fact: Array.from({ length: 17 }, (_, at) => `f${at}`) },
    "fact must be at most 16 facts",
  ],
  ["an empty fact", { fact: [""] }, "fact.0 must not be empty"],
  [
    "facts of one label",
    { fact: ["a.b", "a:b"] },
    'fact: "a.b" and "a:b" both become the label __meta_svc_fact_a_b: choose one',
  ],
])("%s is refused with what was expected", async (_, fields, message) => {
  await expect(fleetOf({}).targets(fields)).rejects.toThrow(message);
});

test("a fact that no peel of the fleet has is a mistake in its name", async () => {
  const { targets } = fleetOf({ aa: { os: "Debian" }, bb: { os: "Debian", cloud: "x" } });
  await expect(targets({ fact: ["oz"] })).rejects.toMatchObject({
    kind: "bad_request",
    message: 'no peel has a fact "oz" (did you mean os?)',
  });
  expect((await targets({ fact: ["cloud"] })).targets).toHaveLength(2);
  expect(await fleetOf({}).targets({ fact: ["oz"] })).toEqual({ targets: [] });
});

test("a master that has not read the fleet does not answer with a part of it", async () => {
  const index = { running: false } as ExportDeps["index"];
  await expect(fleetOf({}).targets({}, { index })).rejects.toMatchObject({ kind: "unavailable" });
});

test("an inventory comes page by page, and a fact that is too long is left out", async () => {
  const facts = { os: "Debian", long: Array.from({ length: 9 }, () => "x".repeat(300)) };
  const fleet = fleetOf({ aa: facts, bb: facts, cc: facts });
  const requested = { facts: ["os", "long"] };
  const all = await fleet.inventory(requested);
  expect(all.peels.map(({ peel_id, facts }) => [peel_id, facts])).toEqual(
    ["aa", "bb", "cc"].map((id) => [id, { os: "Debian" }]),
  );
  const page = await fleet.inventory({ ...requested, limit: 2 });
  expect([page.peels.map(({ peel_id }) => peel_id), page.next]).toEqual([["aa", "bb"], "bb"]);
  const rest = await fleet.inventory({ ...requested, cursor: page.next ?? "" });
  expect([rest.peels.map(({ peel_id }) => peel_id), rest.next]).toEqual([["cc"], undefined]);
  // One peel is always answered: otherwise the list would never end.
  expect(await fleet.inventory(requested, 1)).toMatchObject({ peels: [{ peel_id: "aa" }], next: "aa" });
});
