import { expect, test } from "bun:test";
import type { Membership } from "../../bus/servers/mod.ts";
import { planRemoval } from "./plan-removal.ts";

const follower = (server: string) => ({ server, current: true, offline: false, lag: 0 });
const stream = (name: string, replicas: number, ...servers: string[]) => {
  const [leader = "", ...others] = servers;
  return { name, replicas, leader, followers: others.map(follower), messages: 1, bytes: 1 };
};
/** A cluster that n1 leads, of which some servers run. */
const cluster = (
  size: number,
  running: readonly number[],
  streams: Membership["streams"] = [],
): Membership => ({
  clustered: true,
  leader: "n1",
  followers: Array.from({ length: size - 1 }, (_, i) => follower(`n${i + 2}`)),
  answered: new Map(running.map((n) => [`n${n}`, "2.15.1"])),
  disks: new Map(),
  streams,
});
const plan = (membership: Membership, server: string, names = membership.streams.map(({ name }) => name)) =>
  planRemoval(membership, names, server);

test("with three servers, every stream gets fewer replicas", () => {
  const streams = [stream("A", 3, "n1", "n2", "n3"), stream("B", 2, "n2", "n3"), stream("C", 1, "n1")];
  expect(plan(cluster(3, [1, 2], streams), "n3")).toEqual({
    replicas: 2,
    lowered: ["A"],
    left: [{ name: "B", replicas: 2 }],
  });
});

test("with more servers, streams move and keep their replicas", () => {
  const streams = [stream("A", 3, "n1", "n2", "n5"), stream("B", 3, "n1", "n2", "n3")];
  expect(plan(cluster(5, [1, 2, 3, 4], streams), "n5")).toEqual({
    replicas: 3,
    lowered: [],
    left: [{ name: "A", replicas: 3 }],
  });
});

test("a server that is in no group and stores nothing has left", () => {
  expect(plan(cluster(3, [1, 2, 3]), "n9")).toBe("gone");
});

test.each<[string, Membership, string, readonly string[], string, string]>([
  ["a bus of one server", { ...cluster(1, [1]), clustered: false }, "n1", [], "conflict", "no cluster"],
  [
    "a group without a leader",
    { ...cluster(3, [1]), leader: "" },
    "n3",
    [],
    "unavailable",
    "no server leads",
  ],
  ["the last but one", cluster(2, [1]), "n2", [], "conflict", "is the last but one"],
  ["a server that runs", cluster(3, [1, 2, 3]), "n3", [], "conflict", "n3 still runs"],
  ["too few that run", cluster(5, [1, 2]), "n5", [], "conflict", "only 2 of 5 servers run, and 3 must"],
  [
    "a stream that no server which runs stores",
    cluster(3, [1, 2], [stream("A", 3, "n1", "n2", "n3")]),
    "n3",
    ["A", "B"],
    "conflict",
    "B: stored on no server that runs: start svc-master on n3, wait until svc cluster status",
  ],
  [
    "a stream that elects a leader",
    cluster(3, [1, 2], [{ ...stream("A", 3), leader: "" }]),
    "n3",
    ["A"],
    "unavailable",
    "A: no leader at this moment",
  ],
  [
    "a stream whose servers still name the one that is away as leader",
    cluster(3, [1, 2], [stream("A", 3, "n3", "n1", "n2")]),
    "n3",
    ["A"],
    "unavailable",
    "A: no leader at this moment",
  ],
])("%s is refused", (_, membership, server, names, kind, reason) => {
  expect(plan(membership, server, [...names])).toEqual({
    kind: kind as "conflict",
    reason: expect.stringContaining(reason),
  });
});
