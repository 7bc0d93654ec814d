import { expect, test } from "bun:test";
import { readHealth } from "./health.ts";

const systemWith = (healthz: readonly string[], jsz: readonly string[] = []) => ({
  queryServers: async (kind: "HEALTHZ" | "JSZ") => [...(kind === "HEALTHZ" ? healthz : jsz)],
});
const healthy = (...names: string[]) =>
  names.map((name) => JSON.stringify({ server: { name }, data: { status: "ok" } }));
const member = (name: string, leader: string, replicas?: readonly string[], cluster = "fleet") =>
  JSON.stringify({
    server: { name, cluster },
    data: { meta_cluster: { name: cluster, leader, replicas: replicas?.map((each) => ({ name: each })) } },
  });

test("a server whose JetStream is off is distinguished from one whose storage does not work, and other answers are left out", async () => {
  const answers = [
    '{"server":{"name":"n3"},"data":{"status":"unavailable","status_code":503,"error":"JetStream not enabled (10076)"}}',
    '{"server":{"name":"n1"},"data":{"status":"ok","status_code":200}}',
    '{"server":{"name":"n2"},"data":{"status":"unavailable","status_code":503,"error":"stream is not current"}}',
    '{"server":{"name":"n4"},"error":{"code":500}}',
    "no JSON",
  ];
  expect(await readHealth(systemWith(answers))).toEqual([
    { name: "n1" },
    { name: "n2", trouble: "broken", problem: "stream is not current" },
    { name: "n3", trouble: "off", problem: "JetStream not enabled (10076)" },
  ]);
});

test("a server that follows the leader of the JetStream group without being a member is outside", async () => {
  const jsz = [member("n0", "n1"), member("n1", "n1", ["n2"]), member("n2", "n1")];
  expect(await readHealth(systemWith(healthy("n0", "n1", "n2"), jsz))).toEqual([
    { name: "n0", trouble: "outside" },
    { name: "n1" },
    { name: "n2" },
  ]);
});

test("members, servers alone, elections and other clusters are not outside", async () => {
  const jsz = [
    ...[member("n0", "n1"), member("n1", "n1", ["n0", "n2"]), member("n2", "")],
    ...[member("leaf", "n1", [], "site"), '{"server":{"name":"alone"},"data":{"streams":3}}'],
  ];
  const names = ["alone", "leaf", "n0", "n1", "n2"];
  expect(await readHealth(systemWith(healthy(...names), jsz))).toEqual(names.map((name) => ({ name })));
});
