import { expect, test } from "bun:test";
import { isOfCluster, joinCluster, routesOf } from "./cluster-block.ts";

const alone = `server_name: "box"
listen: "0.0.0.0:4222"
jetstream {
  store_dir: "/srv/store" # a brace } in a comment
}
`;
const tls = { cert: "/c", key: "/k", ca: "/a" };
const place = {
  serverName: "n1.example",
  hosts: ["n1.example", "2001:db8::2", "10.0.0.3"],
  routePort: 6222,
  tls,
};

test("a server gets its name and a route to every server, and keeps the rest", () => {
  const text = joinCluster(alone, place);
  expect(text).toStartWith(alone.replace("box", "n1.example").trimEnd());
  expect(routesOf(text)).toEqual(place.hosts);
  expect(text).toContain('\n  listen: "0.0.0.0:6222"\n');
  expect([isOfCluster(alone), isOfCluster(text), routesOf(alone)]).toEqual([false, true, []]);
});

test("a place in a cluster replaces the one before, also one that was written by hand", () => {
  const once = joinCluster(alone, place);
  expect(joinCluster(once, place)).toBe(once);
  const byHand = `${alone}cluster: {\n  routes: ["nats-route://old:6222"] # }\n  tls { cert_file: "}" }\n}\nmax_connections: 7\n`;
  const text = joinCluster(byHand, place);
  expect(text).not.toContain("old");
  expect(text).toContain("max_connections: 7");
  expect(routesOf(text)).toEqual(place.hosts);
});

test("routes listen where clients are listened to", () => {
  for (const [listen, expected] of [
    ['"127.0.0.1:4222"', '"127.0.0.1:6222"'],
    ['"[::]:4222"', '"[::]:6222"'],
    ["4222", '"0.0.0.0:6222"'],
  ] as const) {
    expect(joinCluster(alone.replace('"0.0.0.0:4222"', listen), place)).toContain(
      `\n  listen: ${expected}\n`,
    );
  }
});

test("what cannot be changed is refused", () => {
  expect(() => joinCluster("listen: 4222\n", place)).toThrow("nats-server.conf has no line server_name");
  expect(() => joinCluster(`${alone}cluster {\n`, place)).toThrow(
    "a brace of the block cluster is not closed",
  );
});
