import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Bus } from "../../../bus/connection/connect.ts";
import { decodeServiceEvent } from "../../../wire/peel-event.ts";
import type { FleetIndex } from "../../targeting/fleet-index.ts";
import { followPresence, reportOnce } from "./presence.ts";

/** A stream in memory behind a bus, as far as presence uses them. */
function memoryStream() {
  const stored: { subject: string; data: Uint8Array }[] = [];
  const state = { connected: true, answers: true };
  const reconnects = new Set<() => void>();
  const lastOf = (subject: string) => stored.findLastIndex((message) => message.subject === subject) + 1;
  const answer = (value: unknown) => Promise.resolve({ data: Buffer.from(JSON.stringify(value)) });
  const nats = {
    request(
      subject: string,
      data: Uint8Array,
      { headers }: { headers?: { get(name: string): string } },
    ): Promise<{ data: Uint8Array }> {
      if (!state.answers) return Promise.reject(new Error("timeout"));
      if (subject === "$JS.API.STREAM.MSG.GET.events") {
        const seq = lastOf(
          (JSON.parse(Buffer.from(data).toString()) as { last_by_subj: string }).last_by_subj,
        );
        const found = stored[seq - 1];
        if (found === undefined) return answer({ error: { code: 404 } });
        return answer({ message: { seq, data: Buffer.from(found.data).toString("base64") } });
      }
      const expected = Number(headers?.get("Nats-Expected-Last-Subject-Sequence"));
      if (expected !== lastOf(subject)) return answer({ error: { err_code: 10071, description: "wrong" } });
      stored.push({ subject, data });
      return answer({ seq: stored.length });
    },
  };
  const bus = {
    nats,
    get connected() {
      return state.connected;
    },
    onReconnect(run: () => void) {
      reconnects.add(run);
      return () => reconnects.delete(run);
    },
  } as unknown as Bus;
  return {
    bus,
    state,
    reconnect: () => {
      for (const run of reconnects) run();
    },
    /** The reports, in order: `lost web1 at 7`. */
    reported: () =>
      stored.map(({ subject, data }) => {
        const { data: said, source } = decodeServiceEvent(data);
        return `${subject.split(".").at(-1)} ${source} at ${said.revision}`;
      }),
  };
}

function setup(stream = memoryStream()) {
  const manual = manualClock();
  let pausedMs = 0;
  const clock: Clock = { ...manual, monotonic: () => manual.monotonic() + pausedMs };
  const members = new Set(["web1", "web2"]);
  const beats = new Map<string, number>();
  const listeners = new Set<Parameters<FleetIndex["onBeat"]>[0]>();
  let checks = 0;
  let requested = 0;
  const presence = followPresence({
    bus: stream.bus,
    index: {
      running: true,
      alive: (peel) => clock.monotonic() - (beats.get(peel) ?? Number.NEGATIVE_INFINITY) < 30_000,
      async caughtUp() {
        requested++;
      },
      onBeat(run) {
        listeners.add(run);
        return () => listeners.delete(run);
      },
    },
    members: () => [...members],
    isMember: (peel) => members.has(peel),
    onCheck: () => void checks++,
    clock,
    log: recordingLog(),
  });
  return {
    ...stream,
    members,
    presence,
    checks: () => checks,
    requested: () => requested,
    /** It says goodbye. */
    leave: (peel: string) => beats.delete(peel),
    /** The process stands still for this time: no timer runs, and nothing is read. */
    pause(ms: number) {
      pausedMs += ms;
    },
    beat(peel: string, revision: number) {
      beats.set(peel, clock.monotonic());
      for (const run of listeners) run(peel, revision, new Uint8Array(), 0);
    },
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 5_000) {
        manual.advance(Math.min(5_000, ms - passed));
        await settle();
      }
    },
  };
}

test("a member that falls silent is lost once, and regained once with its next heartbeat", async () => {
  const { beat, pass, reported, presence } = setup();
  await pass(30_000);
  beat("web1", 7);
  beat("web2", 8);
  await pass(20_000);
  beat("web2", 9);
  expect(reported()).toEqual([]);
  await pass(20_000);
  expect(reported()).toEqual(["lost web1 at 7"]);
  await pass(5_000);
  beat("web2", 10);
  beat("web1", 11);
  await settle();
  beat("web1", 12);
  await settle();
  expect(reported()).toEqual(["lost web1 at 7", "regained web1 at 11"]);
  await presence.stop();
  beat("web1", 13);
  await pass(60_000);
  expect(reported()).toHaveLength(2);
});

test("a peel that starts again after its goodbye is not lost, and one that stays away is", async () => {
  const { beat, leave, pass, reported } = setup();
  await pass(30_000);
  beat("web1", 7);
  leave("web1");
  await pass(10_000);
  beat("web1", 8);
  await pass(20_000);
  expect(reported()).toEqual([]);
  beat("web1", 9);
  leave("web1");
  await pass(15_000);
  expect(reported()).toEqual(["lost web1 at 9"]);
});

test("the bus is asked for unread heartbeats only when a member seems silent", async () => {
  const { beat, pass, reported, requested } = setup();
  await pass(25_000);
  beat("web1", 1);
  beat("web2", 2);
  await pass(25_000);
  expect(requested()).toBe(0);
  beat("web2", 3);
  await pass(5_000);
  expect(requested()).toBe(1);
  expect(reported()).toEqual(["lost web1 at 1"]);
});

test("nothing is written down while peels have not had the time to be heard", async () => {
  const { pass, checks, state, reconnect } = setup();
  await pass(25_000);
  expect(checks()).toBe(0);
  await pass(10_000);
  expect(checks()).toBe(2);
  state.connected = false;
  await pass(10_000);
  state.connected = true;
  reconnect();
  await pass(25_000);
  expect(checks()).toBe(2);
});

test("peels that are not members, or were never heard, are not reported", async () => {
  const { beat, pass, reported, members } = setup();
  await pass(30_000);
  beat("stranger", 1);
  beat("web1", 2);
  await pass(10_000);
  members.delete("web1");
  await pass(60_000);
  beat("web1", 3);
  await settle();
  expect(reported()).toEqual([]);
  beat("web2", 4);
  await pass(40_000);
  members.delete("web2");
  beat("web2", 5);
  await settle();
  expect(reported()).toEqual(["lost web2 at 4"]);
});

test("two masters report a loss once, even when one is minutes late", async () => {
  const stream = memoryStream();
  const one = setup(stream);
  const two = setup(stream);
  for (const master of [one, two]) {
    await master.pass(30_000);
    master.beat("web1", 7);
  }
  await one.pass(40_000);
  await two.pass(40_000);
  expect(stream.reported()).toEqual(["lost web1 at 7"]);
  expect(await reportOnce(stream.bus, "web1", "lost", 7)).toBe(false);
  expect(await reportOnce(stream.bus, "web1", "lost", 6)).toBe(false);
  expect(await reportOnce(stream.bus, "web1", "lost", 9)).toBe(true);
});

test("an outage of the bus does not count as silence of peels", async () => {
  const { beat, pass, reported, state, reconnect } = setup();
  await pass(30_000);
  beat("web1", 7);
  state.connected = false;
  await pass(120_000);
  state.connected = true;
  reconnect();
  await pass(25_000);
  expect(reported()).toEqual([]);
  beat("web1", 8);
  await pass(5_000);
  expect(reported()).toEqual([]);
  await pass(35_000);
  expect(reported()).toEqual(["lost web1 at 8"]);
});

test("a master that was paused reads pending heartbeats before it reports", async () => {
  const { beat, pass, reported, pause } = setup();
  await pass(30_000);
  beat("web1", 7);
  pause(60_000);
  await pass(5_000);
  beat("web1", 8);
  await pass(25_000);
  expect(reported()).toEqual([]);
  await pass(10_000);
  expect(reported()).toEqual(["lost web1 at 8"]);
});

test("a failed report is repeated later", async () => {
  const { beat, pass, reported, state } = setup();
  await pass(30_000);
  beat("web1", 7);
  state.answers = false;
  await pass(40_000);
  expect(reported()).toEqual([]);
  state.answers = true;
  await pass(15_000);
  expect(reported()).toEqual(["lost web1 at 7"]);
});
