import { expect, test } from "bun:test";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import { groupEvents } from "./group.ts";

let count = 0;
const event = (tag: string, source: string, data: ShownEvent["data"] = {}): ShownEvent => {
  const peel = source === "_master" ? {} : { peel: source, peel_id: source.replaceAll(".", "_") };
  const id = `events:${count++}`;
  return { id, at: "2026-01-31T09:00:00.000Z", tag, source, ...peel, origin: "service", data, position: id };
};
const textsOf = (events: readonly ShownEvent[]) =>
  groupEvents(events.toReversed()).map(({ words: { outcome, parts } }) => [
    outcome,
    parts.map((part) => (typeof part === "string" ? part : part.text)).join(""),
  ]);
const job = { jid: "job-1", function: "cmd.run", created_by: "anna" };
const hosts = Array.from({ length: 13 }, (_, at) => `web-${at}.example.com`);
const returned = hosts.map((host, at) =>
  event(`svc/job/job-1/return/${host}`, host, { ...job, outcome: at < 4 ? "failed" : "ok" }),
);

test("a job on many hosts is one line, whatever happened meanwhile", () => {
  const created = event("svc/job/job-1/created", "_master", { ...job, targets: 13 });
  const ended = event("svc/job/job-1/ended", "_master", {
    ...job,
    status: "failed",
    counts: { ok: 9, failed: 4 },
  });
  const other = event("disk/full", "db-1.example.com", { percent: 93, mounts: ["/", "/var"] });
  expect(textsOf([created])).toEqual([["running", "cmd.run of anna began on 13 peels"]]);
  expect(textsOf([created, ...returned.slice(0, 6)])).toEqual([
    ["failed", "cmd.run of anna began on 13 peels, 4 failed, 2 ok so far"],
  ]);
  expect(textsOf([created, ...returned.slice(0, 6), other, ...returned.slice(6), ended])).toEqual([
    ["failed", "cmd.run of anna on 13 peels: 4 failed, 9 ok"],
    ["skipped", "db-1.example.com sent disk/full, percent: 93, mounts: / /var"],
  ]);
  expect(textsOf(returned.slice(5, 6))).toEqual([
    ["ok", "cmd.run of anna answered by web-5.example.com: 1 ok"],
  ]);
  const [group] = groupEvents([ended, ...returned]);
  expect([group?.id, group?.events.length, group?.tag]).toEqual([ended.id, 14, "svc/job/job-1/**"]);
});

test("hosts that fall silent together are one line, and what stands between is shown", () => {
  const lost = hosts.slice(0, 5).map((host) => event(`svc/peel/${host}/lost`, host));
  const back = event(`svc/peel/${hosts[0]}/regained`, hosts[0] as string);
  expect(textsOf([...lost.slice(0, 4), back, ...lost.slice(4)])).toEqual([
    ["offline", "web-4.example.com fell silent"],
    ["ok", "web-0.example.com is back"],
    ["offline", "web-3.example.com, web-2.example.com, web-1.example.com and 1 more fell silent"],
  ]);
});

test.each([
  ["svc/enrollment/created", { id: "enr-1" }, "running", "web-1 asks to join"],
  [
    "svc/enrollment/revoked",
    { id: "enr-1", decided_by: "ann", reason: "sold" },
    "failed",
    "web-1 was revoked by ann: sold",
  ],
  ["svc/enrollment/active", { id: "enr-1" }, "ok", "web-1 is a member now"],
  ["svc/enrollment/clone", {}, "failed", "Two hosts have the identity of web-1"],
  ["svc/enrollment/other", { a: 1 }, "skipped", "web-1 sent svc/enrollment/other, a: 1"],
  ["svc/peel/web-1/suspended", { reason: "floods" }, "timeout", "web-1 was suspended: floods"],
  ["svc/peel/copied", {}, "failed", "A copy of the host of web-1 asked to join with a key of its own"],
  [
    "svc/schedule/nightly/web-1",
    { function: "state.apply", outcome: "failed" },
    "failed",
    "web-1 ran state.apply for its schedule nightly: failed",
  ],
  [
    "svc/rollout/rol-1/changed",
    { function: "state.apply", status: "paused", wave: 2, waves: 4, by: "ann", reason: "3 failed" },
    "timeout",
    "The rollout of state.apply is paused, wave 2 of 4 by ann: 3 failed",
  ],
  [
    "svc/approval/apr-1/changed",
    { operation: "jobs.create", asked_by: "anna", state: "waiting", agreed: 1, needs: 2 },
    "running",
    "anna wants to run a job: 1 of 2 agreed",
  ],
  [
    "svc/approval/apr-1/changed",
    { operation: "jobs.create", asked_by: "anna", state: "denied", by: "ben" },
    "failed",
    "The request of anna to run a job is denied by ben",
  ],
  [
    "svc/states/refused",
    { environment: "base", problems: [{ file: "web.sls", line: 3, column: 1, reason: "no such function" }] },
    "failed",
    "State files of base do not come into force: web.sls:3 no such function",
  ],
  [
    "svc/bus/restarted",
    { master: "m-1", restarts: 1, at: "2026-01-01T00:00:00.000Z" },
    "failed",
    "The bus of the master m-1 ended and was started again, once so far",
  ],
  [
    "svc/bus/restarted",
    { master: "m-1", restarts: 3 },
    "failed",
    "The bus of the master m-1 ended and was started again, 3 times so far",
  ],
  ["svc/bus/other", {}, "skipped", "web-1 sent svc/bus/other"],
  [
    "svc/compliance/web-1",
    { ok: 3, would_change: 1, test: true },
    "changed",
    "web-1 ran its states as a test: 1 would change, 3 as described",
  ],
  ["toString/x", { text: "<b>" }, "skipped", "web-1 sent toString/x, text: <b>"],
  ["svc/constructor", {}, "skipped", "web-1 sent svc/constructor"],
] as const)("%s is a sentence", (tag, data, outcome, text) => {
  expect(textsOf([event(tag, "web-1", data as ShownEvent["data"])])).toEqual([[outcome, text]]);
});

test("data that is not as it should be breaks nothing", () => {
  for (const tag of [
    "svc/job/x",
    "svc/job//ended",
    "svc/rollout",
    "svc/approval/",
    "svc/states/refused",
    "svc/compliance/x",
  ]) {
    for (const data of [{}, { counts: "x", problems: "y", status: 7 }, { counts: null, problems: [null] }]) {
      expect(textsOf([event(tag, "web-1", data as ShownEvent["data"])])).toHaveLength(1);
    }
  }
});
