import { expect, test } from "bun:test";
import { createRecentEvents } from "./recent-events.ts";

function setup() {
  let now = 1_000_000;
  const recent = createRecentEvents({ now: () => now });
  const retain = (jid: string, bytes = 10) =>
    recent.retain({ subject: `svc.job.${jid}.return.web-1`, data: new Uint8Array(bytes), storedAt: now });
  const pass = (ms: number) => {
    now += ms;
  };
  const of = (jid: string, createdAt = now) => recent.of({ jid, createdAt })?.length;
  return { recent, retain, pass, of, now: () => now };
}

test("what peels said of a job that has just begun is there, and nothing of another one", () => {
  const { retain, pass, of, now } = setup();
  pass(6_000);
  const createdAt = now();
  retain("job-1");
  retain("job-2");
  retain("job-1");
  expect([of("job-1", createdAt), of("job-3", createdAt)]).toEqual([2, 0]);
});

test("of a job that may be older than what is kept nothing is said", () => {
  const { recent, retain, pass, of, now } = setup();
  expect(of("job-1")).toBeUndefined();
  pass(6_000);
  const createdAt = now();
  retain("job-1");
  pass(11_000);
  retain("job-2");
  expect(of("job-1", createdAt)).toBeUndefined();
  pass(6_000);
  expect(of("job-2")).toBe(1);
  recent.forget();
  expect(of("job-2")).toBeUndefined();
});

test("no more is kept than has room", () => {
  const { retain, pass, of, now } = setup();
  pass(6_000);
  const createdAt = now();
  for (let at = 0; at < 40; at++) retain("job-1", 1024 * 1024);
  expect(of("job-1", createdAt)).toBeUndefined();
});
