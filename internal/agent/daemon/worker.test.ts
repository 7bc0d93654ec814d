import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settle } from "../../../test/harness/clock.ts";
import { key, listedPeel } from "../../../test/harness/listed-peel.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { encodeCall, encodeStop } from "../../wire/call.ts";
import { type CommandKind, signCommand } from "../../wire/command.ts";
import { upgradeFiles } from "../upgrade/files.ts";

const files = temporaryDirectory("worker");
afterAll(() => files[Symbol.dispose]());
let count = 0;
const peel = () => listedPeel(join(files.path, `${++count}`));

test("a job that changes something is noted, acknowledged, run, and returned", async () => {
  const { dispatch, end, said, begun, returnOf, dataDir, life } = peel();
  await dispatch("a");
  expect([said(), begun, existsSync(join(dataDir, "peel-dedup.msgpack"))]).toEqual([["ack a"], ["a"], true]);
  await end("a", { return: 7 });
  expect(said()).toEqual(["ack a", "return a"]);
  expect(returnOf("a")).toMatchObject({ success: true, return: 7 });
  expect(readdirSync(join(dataDir, "outbox"))).toEqual([]);
  expect(life.local.counts.jobs).toMatchObject({ ok: 1, failed: 0 });
});

test("a read-only job runs concurrently, without disk access", async () => {
  const { dispatch, end, said, begun, dataDir } = peel();
  await dispatch("read");
  await end("read");
  expect([begun, said(), readdirSync(dataDir)]).toEqual([["read"], ["return read"], []]);
});

test.each(["a", "read"])("a repeated command is dropped, while it runs and afterwards (%s)", async (name) => {
  const { dispatch, end, said, begun, life, crash } = peel();
  await dispatch(name);
  await dispatch(name);
  await end(name);
  const before = said();
  await dispatch(name);
  expect([begun, said(), life.local.counts.repeated]).toEqual([[name], before, 2]);
  await crash();
  await dispatch(name);
  expect(begun).toEqual(name === "a" ? ["a"] : ["read", "read"]);
});

describe("where masters send a command again until its return is stored", () => {
  test("the return of a quick read-only job needs no confirmation, and has one when it is asked for again", async () => {
    const { dispatchAgain, end, said, begun, returnOf } = peel();
    await dispatchAgain("read");
    await dispatchAgain("read");
    expect(said()).toEqual([]);
    await end("read", { return: 7 });
    expect(said()).toEqual(["unconfirmed return read"]);
    await dispatchAgain("read");
    await dispatchAgain("read");
    expect([begun, said()]).toEqual([["read"], ["unconfirmed return read", "return read"]]);
    expect(returnOf("read")).toMatchObject({ success: true, return: 7 });
  });

  test("each return that masters may not ask for in time is confirmed", async () => {
    const { dispatchAgain, dispatch, end, said, clock, bus, connect } = peel();
    await dispatchAgain("read-late", "read-late", clock.now() + 9_000);
    await end("read-late");
    await dispatchAgain("read-slow");
    await end("read-slow", { duration_ms: 1_500 });
    await dispatchAgain("changes");
    await end("changes");
    // It is not sent again.
    await dispatch("read-once");
    await end("read-once");
    bus.connected = false;
    bus.storing = false;
    await dispatchAgain("read-away");
    await end("read-away");
    const before = ["read-late", "read-slow"].map((jid) => `return ${jid}`);
    const known = [...before, "ack changes", "return changes", "return read-once"];
    expect(said()).toEqual(known);
    bus.connected = true;
    await connect();
    expect(said()).toEqual([...known, "return read-away"]);
  });
});

describe("without a stored acknowledgement", () => {
  test("nothing runs; when it is stored the job runs, unless its deadline passed by then", async () => {
    const { dispatch, bus, begun, connect, clock, returnOf, inAMinute } = peel();
    bus.storing = false;
    await dispatch("soon", "soon", inAMinute());
    await dispatch("late", "late", inAMinute() + 60_000);
    expect(begun).toEqual([]);
    clock.advance(60_000);
    await settle();
    await connect();
    expect(begun).toEqual(["late"]);
    expect(returnOf("soon")).toMatchObject({
      success: false,
      outcome: "timeout",
      error: "never began: the deadline passed first",
    });
  });
});

test("a job is stopped at its deadline", async () => {
  const { dispatch, clock, returnOf } = peel();
  await dispatch("a");
  clock.advance(60_000);
  await settle();
  expect(returnOf("a")).toMatchObject({ success: false, retcode: 15, outcome: "timeout" });
});

test("a stopped job of an upgrade in progress has no return until the upgrade ends", async () => {
  const { dispatch, stop, returnOf, dataDir, inAMinute, crash, clock, life } = peel();
  const upgrade = upgradeFiles(dataDir);
  await dispatch("a");
  const staged = { jid: "a", sha256: "a".repeat(64), version: "2", from: "1", readyWithinMs: 1 };
  upgrade.writeRequest({ ...staged, deadline: inAMinute() });
  await stop("a");
  await settle();
  expect([returnOf("a"), life.local.dedup.unfinished().length]).toEqual([undefined, 1]);
  await crash();
  const { jid, version, from } = staged;
  const outcome = { jid, version, from, success: true, rolledBack: false, reason: "", at: clock.now() };
  upgrade.writeState({ outcome });
  clock.advance(1_000);
  await settle();
  expect(returnOf("a")).toMatchObject({ success: true, return: { version: "2", previous: "1" } });
});

describe("after a restart", () => {
  test("a job that ran or waited is lost, and never run again", async () => {
    const at = peel();
    const { dispatch, crash, returnOf, begun, said } = at;
    await dispatch("a");
    await dispatch("b");
    await crash();
    for (const jid of ["a", "b"]) {
      expect(returnOf(jid)).toMatchObject({
        success: false,
        retcode: 1,
        outcome: "lost",
        error: "the peel restarted while the job ran or waited",
      });
    }
    const before = said();
    await dispatch("a");
    await dispatch("b");
    await crash();
    expect([begun, said()]).toEqual([["a"], before]);
    expect(at.life.local.counts.jobs.lost).toBe(0);
  });

  test("a return that the bus had not stored is sent, as it was", async () => {
    const { dispatch, end, crash, returnOf, bus, connect } = peel();
    await dispatch("a");
    bus.storing = false;
    await end("a", { return: "what it came to" });
    await crash();
    expect(returnOf("a")).toBeUndefined();
    await connect();
    expect(returnOf("a")).toMatchObject({ success: true, return: "what it came to" });
  });

  test("a job whose return was kept, but which was not marked as done any more, is not lost", async () => {
    const { dispatch, end, crash, said, bus, connect, dataDir } = peel();
    await dispatch("a");
    bus.storing = false;
    const record = join(dataDir, "peel-dedup.msgpack");
    const { size } = statSync(record);
    await end("a");
    truncateSync(record, size);
    await crash();
    await connect();
    expect(said()).toEqual(["ack a", "return a"]);
  });
});

test("a full queue answers busy in the words of the specification, and that job never runs later", async () => {
  const { dispatch, end, returnOf, begun, crash } = peel();
  for (let i = 0; i < 64; i++) await dispatch(`job-${i}`);
  await dispatch("more");
  expect(returnOf("more")).toMatchObject({
    success: false,
    outcome: "busy",
    error: "peel busy: execution queue full",
  });
  await end("job-0");
  await dispatch("more");
  await crash();
  await dispatch("more");
  expect(begun).toEqual(["job-0", "job-1"]);
});

describe("a stop", () => {
  test("of a job that waits or runs ends it", async () => {
    const { dispatch, stop, returnOf, begun } = peel();
    await dispatch("a");
    await dispatch("b");
    await dispatch("read");
    for (const jid of ["b", "a", "read"]) await stop(jid);
    expect(returnOf("b")).toMatchObject({ outcome: "cancelled", error: "cancelled before it began" });
    expect(returnOf("a")).toMatchObject({ outcome: "cancelled", retcode: 15 });
    expect(returnOf("read")).toMatchObject({ outcome: "cancelled" });
    expect(begun).toEqual(["a", "read"]);
  });

  test("of a job that never came is answered, and keeps it from running, also after a restart", async () => {
    const { dispatch, stop, returnOf, begun, crash, said } = peel();
    await stop("a");
    await stop("a");
    expect(returnOf("a")).toMatchObject({ outcome: "cancelled" });
    await dispatch("a");
    await crash();
    await dispatch("a");
    await dispatch("read-a", "read");
    expect([begun, said()]).toEqual([["read"], ["return a"]]);
  });

  test.each(["a", "read"])("of a job that has ended changes nothing (%s)", async (name) => {
    const { dispatch, stop, end, returnOf, said } = peel();
    await dispatch(name);
    await end(name);
    const before = said();
    await stop(name);
    expect([said(), returnOf(name)?.outcome]).toEqual([before, undefined]);
  });
});

describe("refused, logged and counted:", () => {
  test.each([
    ["junk", "malformed", (): Uint8Array => Buffer.from("junk")],
    [
      "another job's",
      "misdirected",
      (at: ReturnType<typeof peel>) => at.sign("dispatch", "a", "b", at.inAMinute()),
    ],
    [
      "a stop as a dispatch",
      "misdirected",
      (at: ReturnType<typeof peel>) => at.sign("stop", "", "a", at.inAMinute()),
    ],
  ] as const)("%s command", async (_, reason, bytes) => {
    const at = peel();
    await at.deliver("dispatch", "a", bytes(at));
    expect(at.life.local.counts.refused).toEqual({
      ...{ malformed: 0, unknown_key: 0, bad_signature: 0, misdirected: 0, expired: 0, unsigned: 0 },
      [reason]: 1,
    });
    expect(at.log.records).toMatchObject([{ level: "warn", event: "command refused", fields: { jid: "a" } }]);
    expect([at.begun, at.said()]).toEqual([[], []]);
  });
});

describe("a command that came after its deadline, on the clock of this host,", () => {
  /** What a master signed two hours ago, of this host's time. */
  const late = (at: ReturnType<typeof peel>, kind: CommandKind, jid = "a", peelId = "web-1") =>
    signCommand(
      {
        kind,
        jid,
        peel: peelId,
        deadline: at.clock.now() - 7_140_000,
        body: encodeCall({ function: "a", args: {} }),
      },
      key,
    );

  test.each(["its subject", "a hello"])(
    "is refused, and returned with the reason, once (%s)",
    async (from) => {
      const at = peel();
      for (let i = 0; i < 2; i++) {
        if (from === "a hello") at.life.worker.take(late(at, "dispatch"));
        else await at.deliver("dispatch", "a", late(at, "dispatch"));
        await settle();
      }
      expect([at.begun, at.said(), at.life.local.counts.refused.expired]).toEqual([[], ["return a"], 2]);
      expect(at.returnOf("a")).toMatchObject({
        ...{ success: false, outcome: "timeout" },
        error:
          "never began: the deadline passed 1h59m ago by the clock of this host (2026-01-01T00:00:00.000Z); " +
          "next: if that clock is wrong, timedatectl set-ntp true on this host",
      });
    },
  );

  test("is returned when the bus stores it, some seconds later", async () => {
    const at = peel();
    at.bus.storing = false;
    await at.deliver("dispatch", "a", late(at, "dispatch"));
    at.clock.advance(30_000);
    await settle();
    await at.connect();
    expect(at.said()).toEqual(["return a"]);
  });

  test("has no answer where no master signed it, or for another peel, job or kind", async () => {
    const at = peel();
    const forged = { ...(decode(late(at, "dispatch")) as object), body: encode("forged") };
    await at.deliver("dispatch", "a", encode(forged));
    const stranger = newKeyPair("user", systemRandom);
    const command = { kind: "dispatch", jid: "a", peel: "web-1", deadline: 1, body: encode("junk") } as const;
    await at.deliver("dispatch", "a", signCommand(command, stranger));
    await at.deliver("dispatch", "a", late(at, "dispatch", "b"));
    await at.deliver("dispatch", "a", late(at, "dispatch", "a", "web-2"));
    await at.deliver("dispatch", "a", late(at, "stop"));
    at.life.worker.take(late(at, "dispatch", "a", "web-2"));
    await settle();
    expect([at.begun, at.said()]).toEqual([[], []]);
    expect(at.life.local.counts.refused).toMatchObject({ expired: 0, misdirected: 4 });
  });

  test.each(["a", "read"])(
    "changes nothing where it came before (%s), and a stop has no answer",
    async (name) => {
      const at = peel();
      await at.dispatch("a", name);
      await at.end(name);
      const before = at.said();
      at.clock.advance(60_000);
      await at.deliver("dispatch", "a", at.sign("dispatch", name, "a", at.clock.now()));
      await at.deliver("stop", "b", late(at, "stop", "b"));
      expect(at.said()).toEqual(before);
      expect(at.life.local.counts.refused.expired).toBe(2);
    },
  );
});

test("each record about a job names the request it comes from, as far as a master signed it", async () => {
  const { deliver, inAMinute, end, clock, log } = peel();
  const signed = (kind: CommandKind, jid: string, body: Uint8Array, more: { deadline?: number } = {}) =>
    signCommand({ kind, jid, peel: "web-1", deadline: inAMinute(), body, ...more }, key);
  const call = (requestId: string) => encodeCall({ function: "change", args: {} }, requestId);
  await deliver("dispatch", "a", signed("dispatch", "a", call("r-dispatch")));
  await deliver("stop", "a", signed("stop", "a", encodeStop("r-stop")));
  await end("change", { success: false });
  await deliver("dispatch", "late", signed("dispatch", "late", call("r-late"), { deadline: clock.now() }));
  const forged = { ...(decode(signed("dispatch", "b", call("r-real"))) as object), body: call("r-forged") };
  await deliver("dispatch", "b", encode(forged));
  await deliver("dispatch", "c", signed("dispatch", "c", encode({ request_id: "x\nforged" })));
  expect(log.records.map(({ event, fields: { jid, request_id } }) => [event, jid, request_id])).toEqual([
    ["job taken", "a", "r-dispatch"],
    ["job cancelled while it ran or waited", "a", "r-stop"],
    ["job done", "a", "r-dispatch"],
    ["command refused", "late", "r-late"],
    ["job done", "late", "r-late"],
    ["command refused", "b", undefined],
    ["job done", "c", undefined],
  ]);
});

test("a signed command with a malformed call fails once", async () => {
  const { deliver, inAMinute, returnOf, said } = peel();
  const command = { kind: "dispatch", jid: "a", peel: "web-1", deadline: inAMinute() } as const;
  const signed = signCommand({ ...command, body: encode("junk") }, key);
  await deliver("dispatch", "a", signed);
  await deliver("dispatch", "a", signed);
  expect(returnOf("a")).toMatchObject({ success: false, error: "the job is malformed" });
  expect(said()).toEqual(["return a"]);
});

test("a command from a hello is handled like one from its subject", async () => {
  const { life, sign, inAMinute, begun, returnOf, log } = peel();
  for (const jid of ["a", "b", "a"]) life.worker.take(sign("dispatch", jid, jid, inAMinute()));
  life.worker.take(sign("stop", "", "b", inAMinute()));
  life.worker.take(Buffer.from("junk"));
  await settle();
  expect(begun).toEqual(["a"]);
  expect(returnOf("b")).toMatchObject({ outcome: "cancelled" });
  expect(log.records.filter(({ level }) => level === "warn")).toHaveLength(1);
});

describe("faults:", () => {
  test("a job that cannot be recorded is refused with the reason, and does not run", async () => {
    const { dispatch, dataDir, returnOf, begun, said } = peel();
    mkdirSync(join(dataDir, "peel-dedup.msgpack"));
    await dispatch("a");
    expect(returnOf("a")).toMatchObject({
      success: false,
      error: expect.stringMatching(
        /^not run, because the peel cannot record it: cannot write .*peel-dedup.msgpack/,
      ),
    });
    await dispatch("a");
    expect([begun, said()]).toEqual([[], ["return a"]]);
  });

  test("after damage of the record, older jobs do not run", async () => {
    const { dispatch, dataDir, crash, returnOf, begun, clock } = peel();
    const jid = newId("job", clock.now(), systemRandom);
    await dispatch("a");
    writeFileSync(join(dataDir, "peel-dedup.msgpack"), "x".repeat(1000));
    await crash();
    await dispatch(jid, "again");
    expect(returnOf(jid)).toMatchObject({ success: false, outcome: "lost" });
    expect(begun).toEqual(["a"]);
  });

  test("a return that cannot be stored is sent anyway; a crash before that makes the job lost", async () => {
    for (const crashes of [false, true]) {
      const { dispatch, end, dataDir, bus, connect, crash, returnOf } = peel();
      writeFileSync(join(dataDir, "outbox"), "a file where a directory was to be");
      await dispatch("a");
      bus.storing = false;
      await end("a");
      if (crashes) await crash();
      await connect();
      expect(returnOf("a")).toMatchObject(crashes ? { outcome: "lost" } : { success: true });
      const before = returnOf("a");
      await crash();
      expect(returnOf("a")).toBe(before as never);
    }
  });
});
