import { expect, test } from "bun:test";
import { createBacklog } from "./backlog.ts";

const hour = 3600_000;

test("what was stored within a minute of the newest is published, whenever that was", () => {
  const backlog = createBacklog<string>();
  backlog.add("old", 0);
  backlog.add("second", 10 * hour - 60_000);
  backlog.add("newest", 10 * hour);
  backlog.add("older", 10 * hour - 60_001);
  expect(backlog.take(20 * hour)).toEqual(["second", "newest"]);
  expect(backlog.take(20 * hour)).toEqual([]);
});

test("what the bus may have forgotten is not published again", () => {
  const backlog = createBacklog<string>();
  backlog.add("newest", hour);
  expect(backlog.take(13 * hour + 1)).toEqual([]);
});

test("the newest of many jobs remain", () => {
  const backlog = createBacklog<number>();
  for (let at = 0; at < 50_000; at++) backlog.add(at, at * 1_000);
  expect(backlog.take(50_000_000)).toHaveLength(61);
});
