import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { createFactPacker, type FactMap } from "../../tree/targets/fact-map.ts";
import type { Groups } from "../../tree/targets/groups.ts";
import { readGroups } from "../../tree/targets/groups.ts";
import type { Wanted } from "./fleet.ts";
import { createPace } from "./pace.ts";
import { createResolver } from "./resolver.ts";

/** A resolver over a fleet that is only complete after waiting for it. */
function setup(groups: () => Groups = () => new Map()) {
  const waited: string[] = [];
  let members: string[] = [];
  let facts: FactMap | undefined;
  const directory = {
    members: () => members,
    caughtUp: async () => {
      waited.push("members");
      members = ["a1", "b1"];
    },
    labelsOf: (peelId: string) => (peelId === "b1" ? { env: "prod" } : undefined),
  };
  const index = {
    ready: Promise.resolve(),
    running: true,
    members: () => members,
    peels: () => members.map((id) => ({ id, facts })),
    hasSettings: false,
    alive: (peel: string) => peel === "a1",
    caughtUp: async (wanted: Wanted) => {
      if (wanted.heartbeats) waited.push("heartbeats");
      if (!wanted.facts) return;
      waited.push("facts");
      facts = createFactPacker().pack({ os: "Debian" }).facts;
    },
    stop: () => {},
  };
  const deps = {
    directory,
    index,
    facts: memoryBucket(),
    heartbeats: memoryBucket(),
    groups: { current: groups },
    settings: async () => new Map([["b1", createFactPacker().pack({ role: "db" }).facts]]),
    pace: createPace(),
    log: recordingLog(),
  };
  return { resolver: createResolver(deps), deps, waited };
}

test("a request sees everything stored before, and only waits for the data it needs", async () => {
  const first = setup();
  expect(await first.resolver.resolve({ expression: "not b*" })).toEqual(["a1"]);
  expect(await first.resolver.resolve({ peels: ["b1"] })).toEqual(["b1"]);
  expect(first.waited).toEqual(["members", "members"]);
  expect(await first.resolver.resolve({ expression: "I@role:d*" })).toEqual(["b1"]);
  const second = setup();
  expect(await second.resolver.resolve({ expression: "b1 and G@os:debian" })).toEqual(["b1"]);
  expect(second.waited).toEqual(["members", "facts"]);
  expect(await second.resolver.resolveWithLife({ expression: "*" })).toEqual([
    { peelId: "a1", alive: true },
    { peelId: "b1", alive: false },
  ]);
  expect(second.waited).toEqual(["members", "facts", "members", "heartbeats"]);
});

test("labels are those of the directory, and nothing else is waited for", async () => {
  const { resolver, waited } = setup();
  expect(await resolver.resolve({ expression: "T@env:pr*" })).toEqual(["b1"]);
  expect(await resolver.resolve({ expression: "not T@env:prod" })).toEqual(["a1"]);
  expect(await resolver.resolve({ expression: "T@env:Prod or T@constructor:*" })).toEqual([]);
  expect(await resolver.resolve({ expression: "T@env:prod and I@role:db" })).toEqual(["b1"]);
  expect(new Set(waited)).toEqual(new Set(["members"]));
});

test("facts in a node group are also waited for", async () => {
  const { resolver, waited } = setup(() => readGroups("debian: G@os:debian", "g"));
  expect(await resolver.resolve({ expression: "N@debian" })).toEqual(["a1", "b1"]);
  expect(waited).toEqual(["members", "facts"]);
});

test("unreadable groups only affect targets that use one", async () => {
  const { resolver } = setup(() => {
    throw new SvcError("unavailable", "node groups cannot be read: no");
  });
  expect(await resolver.resolve({ expression: "a*" })).toEqual(["a1"]);
  await expect(resolver.resolve({ expression: "a* and not N@x" })).rejects.toThrow("cannot be read: no");
});

test("while the members are not read completely, nothing is resolved: not even to nothing", async () => {
  const { deps } = setup();
  const caughtUp = () => Promise.reject(new SvcError("unavailable", "the bucket enrollments is not read"));
  const resolver = createResolver({ ...deps, directory: { ...deps.directory, caughtUp } });
  for (const target of [{ expression: "*" }, { peels: ["a1"] }]) {
    await expect(resolver.resolve(target)).rejects.toMatchObject({ kind: "unavailable" });
    await expect(resolver.resolveWithLife(target)).rejects.toMatchObject({ kind: "unavailable" });
  }
});
