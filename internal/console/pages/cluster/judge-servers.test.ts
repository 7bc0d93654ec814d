import { expect, test } from "bun:test";
import { diskOf, judgeServers, judgeStreams } from "./judge-servers.ts";

const server = (name: string, state: "up" | "missing" | "broken") => ({
  ...{ server: name, version: "2.15.1", state, leads_group: false, leads: 0, stores: 0, lag: 0 },
});
const stream = (name: string, replicas = 3) => ({
  ...{ stream: name, leader: "n1", replicas, bytes: 1_024, servers: ["n1", "n2", "n3"], behind: [] },
});
const answer = { clustered: true, leader: "n1", wanted_replicas: 3, members: [], streams: [], problems: [] };

test("servers that need a look come first", () => {
  const members = [server("n1", "up"), server("n2", "missing"), server("n3", "up"), server("n0", "broken")];
  expect(judgeServers({ ...answer, members }).map(({ server: name, outcome }) => [name, outcome])).toEqual([
    ["n0", "failed"],
    ["n2", "offline"],
    ["n1", "ok"],
    ["n3", "ok"],
  ]);
});

test("streams without a leader, then incomplete ones, then those with few replicas come first", () => {
  const streams = [
    stream("A"),
    stream("B", 1),
    { ...stream("C"), behind: [{ server: "n2", lag: 4 }] },
    { ...stream("D"), leader: "" },
  ];
  expect(judgeStreams({ ...answer, streams }).map(({ stream: name, word }) => [name, word])).toEqual([
    ["D", "no leader"],
    ["C", "incomplete"],
    ["B", "few replicas"],
    ["A", "complete"],
  ]);
});

test.each([
  [{}, { words: "not known", isNearlyFull: false }],
  [
    { stored_bytes: 84, max_bytes: 100 },
    { words: "84 B of 100 B", isNearlyFull: false },
  ],
  [
    { stored_bytes: 9 * 1024 ** 3, max_bytes: 10 * 1024 ** 3 },
    { words: "9 GiB of 10 GiB", isNearlyFull: true },
  ],
])("the disk of a server with %j", (server, disk) => {
  expect(diskOf(server)).toEqual(disk);
});
