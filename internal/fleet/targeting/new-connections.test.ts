import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createNewConnections } from "./new-connections.ts";

test("a connection is new for 30 s, or until it ends", () => {
  const clock = manualClock();
  const connections = createNewConnections(clock);
  const seen = () => ["a", "b", "c"].filter(connections.has);
  connections.began({ id: "1", name: "a" });
  connections.began({ id: "2", name: "b" });
  expect(seen()).toEqual(["a", "b"]);
  connections.ended({ id: "2", name: "b" });
  expect(seen()).toEqual(["a"]);
  clock.advance(29_999);
  expect(seen()).toEqual(["a"]);
  clock.advance(1);
  expect(seen()).toEqual([]);
});

test("the end of an earlier connection does not end the next one, which may have begun before", () => {
  const connections = createNewConnections(manualClock());
  connections.began({ id: "1", name: "a" });
  connections.began({ id: "2", name: "a" });
  connections.ended({ id: "1", name: "a" });
  expect(connections.has("a")).toBe(true);
});
