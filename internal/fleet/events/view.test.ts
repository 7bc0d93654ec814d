import { expect, test } from "bun:test";
import type { Event } from "../reactor/events/mod.ts";
import { showEvent } from "./view.ts";

const position = { events: 1, "job-events": 2, enrollments: 3 };
const event = (own: Partial<Event>): Event => ({
  ...{ id: "events:1", tag: "svc/peel/web-1_example/lost", source: "web-1_example", origin: "service" },
  ...{ at: 0, depth: 0, data: {} },
  ...own,
});
const both = { peel: "web-1.example", peel_id: "web-1_example" };

test.each([
  ["data that rules read", { peel: "web-1_example", peel_id: "web-1_example", revision: 7 }, { revision: 7 }],
  ["an enrollment", { id: "enr-1", peel_id: "web-1_example" }, { id: "enr-1" }],
])("an event names its peel in both ways, itself and in its data: %s", (_, data, others) => {
  const shown = showEvent({ event: event({ data }), position });
  expect(shown).toMatchObject({ source: "web-1.example", ...both });
  expect(shown.data).toEqual({ ...others, ...both });
});

test.each([
  ["what a peel says", { origin: "peel", data: { peel: "a_b" } }],
  ["a name that is not a peel id", { data: { peel: "../x" } }],
  ["a number", { data: { peel_id: 7 } }],
] as const)("stays as it is: %s", (_, own) => {
  expect(showEvent({ event: event(own), position }).data).toEqual(own.data);
});

test("an event of the masters is about no peel", () => {
  const { peel, peel_id: peelId } = showEvent({ event: event({ source: "_master" }), position });
  expect([peel, peelId]).toEqual([undefined, undefined]);
});
