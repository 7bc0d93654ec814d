import { expect, test } from "bun:test";
import { replicaProblem } from "./replica-servers.ts";

const at = (name: string, version: string) => ({ name, version });

test("one old server of a cluster is enough to refuse replicas, and it is named", () => {
  expect(replicaProblem([at("n1", "2.10.27"), at("n2", "2.15.1")])).toBeUndefined();
  expect(replicaProblem([at("n1", "2.15.1"), at("n2", "2.9.10"), at("n3", "2.10.26")])).toContain(
    "need nats-server 2.10.27 or newer on every server of the cluster, and n2 runs 2.9.10, n3 runs 2.10.26",
  );
});

test("a server that does not give a version is taken for old", () => {
  expect(replicaProblem([at("n1", "")])).toContain("n1 runs ");
});
