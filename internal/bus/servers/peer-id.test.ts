import { expect, test } from "bun:test";
import { peerIdOf, serverOfPeer } from "./peer-id.ts";

const unnamed = (id: string) => `Server name unknown at this time (peerID: ${id})`;

// As nats-server 2.15.1 showed it.
test("the ID of a server follows from its name", () => {
  expect(peerIdOf("n3.fleet.test")).toBe("d9HJbUU2");
});

test.each([
  ["n1", [], "n1"],
  [unnamed("d9HJbUU2"), ["n1.fleet.test", "n3.fleet.test"], "n3.fleet.test"],
  [unnamed("d9HJbUU2"), ["n1.fleet.test"], unnamed("d9HJbUU2")],
])("%s of %j is %s", (named, known, server) => {
  expect(serverOfPeer(named, known)).toBe(server);
});
