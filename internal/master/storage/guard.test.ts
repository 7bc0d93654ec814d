import { describe, expect, test } from "bun:test";
import { AckPolicy, nanos } from "nats";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { connectTo, natsServerVersions, startBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { until } from "../../../test/harness/until.ts";
import { gibibyte } from "../../base/byte-size.ts";
import { systemClock } from "../../base/clock.ts";
import { encode } from "../../base/msgpack.ts";
import { assets, provision } from "../../bus/assets/assets.ts";
import { lintBus } from "../../bus/assets/lint-bus.ts";
import { guardAssets } from "./guard.ts";

const retention = assets.audit.ttlMs;

describe.each(natsServerVersions())("on a server $version", ({ path, version }) => {
  const hasMetadata = !version.startsWith("2.9.");

  /** A bus with all storage, and a master whose turn it is. */
  async function guarded(
    offer: { storage: number; memory: number } | null = { storage: gibibyte, memory: gibibyte },
  ) {
    const files = await startBus({ server: path });
    const bus = await connectTo(files, "master");
    const [log, clock] = [recordingLog(), manualClock(systemClock.now())];
    const state = { isTurn: true, isWhole: true, restored: 0, fitted: 0 };
    const jobs = memoryBucket();
    const provisionAll = () => provision(bus, { replicas: 1, onlyRaise: true, ...(offer && { offer }) }, log);
    await provisionAll();
    const start = () =>
      guardAssets({
        bus,
        isTurn: () => state.isTurn,
        async provision() {
          const room = await provisionAll();
          state.fitted++;
          return room;
        },
        auditRetentionMs: retention,
        metrics: { assetRestored: () => void state.restored++ },
        isWhole: () => state.isWhole,
        isPeel: (peel) => peel === "web-1",
        jobs,
        clock,
        log,
      });
    const { streams, consumers } = await bus.nats.jetstreamManager();
    const config = async (stream: string) => (await streams.info(stream)).config;
    return {
      ...{ bus, state, clock, jobs, log, streams, consumers, config, start },
      async [Symbol.asyncDispose]() {
        await bus.nats.close();
        await files[Symbol.asyncDispose]();
      },
    };
  }

  test("what someone changes is repaired at once, and counted", async () => {
    await using fleet = await guarded();
    const { config, streams, state } = fleet;
    const before = await config("events");
    const guard = fleet.start();
    await until(() => state.fitted === 1);
    expect(state.restored).toBe(0);
    await streams.update("events", {
      ...before,
      ...{ max_age: nanos(300_000), subjects: ["svc.event.>", "svc.other.>"], max_msgs: 5 },
    });
    await until(() => state.restored === 1);
    expect(await config("events")).toMatchObject({
      ...{ max_age: before.max_age, subjects: before.subjects, max_msgs: -1 },
    });
    const facts = await config("KV_facts");
    await streams.update("KV_facts", { ...facts, max_bytes: 1_000_000 });
    await until(() => state.restored === 2);
    expect((await config("KV_facts")).max_bytes).toBe(facts.max_bytes);
    await streams.delete("KV_rollouts");
    await until(() => config("KV_rollouts").then(Boolean, () => false));
    guard.stop();
  });

  test("a limit stays, and is not counted, while the bus does not say what it can store", async () => {
    await using fleet = await guarded(null);
    const guard = fleet.start();
    await until(() => fleet.state.fitted === 1);
    await fleet.streams.update("KV_facts", { ...(await fleet.config("KV_facts")), max_bytes: 1_000_000 });
    await until(() => fleet.state.fitted === 2);
    await fleet.streams.update("events", { ...(await fleet.config("events")), max_msgs: 5 });
    await until(async () => (await fleet.config("events")).max_msgs === -1);
    await until(() => fleet.state.restored > 0);
    expect([fleet.state.restored, (await fleet.config("KV_facts")).max_bytes]).toEqual([1, 1_000_000]);
    guard.stop();
  });

  test("a master whose turn it is not changes nothing, and what it missed is repaired when its turn comes", async () => {
    await using fleet = await guarded();
    fleet.state.isTurn = false;
    const guard = fleet.start();
    await fleet.streams.update("events", { ...(await fleet.config("events")), max_msgs: 5 });
    fleet.clock.advance(120_000);
    await fleet.bus.nats.flush();
    expect((await fleet.config("events")).max_msgs).toBe(5);
    fleet.state.isTurn = true;
    fleet.clock.advance(20_000);
    await until(() => fleet.state.restored === 1);
    guard.stop();
  });

  if (hasMetadata)
    test("a stream of a later version is left as it is", async () => {
      await using fleet = await guarded();
      const found = await fleet.config("events");
      expect(found.metadata).toMatchObject({ "svc.version": "1" });
      const later = { ...found, max_msgs: 5, metadata: { ...found.metadata, "svc.version": "2" } };
      await fleet.streams.update("events", later);
      expect((await lintBus(fleet.bus, retention)).changed).toEqual([]);
      await provision(fleet.bus, { replicas: 1, onlyRaise: true }, fleet.log);
      expect(await fleet.config("events")).toMatchObject({ max_msgs: 5, metadata: { "svc.version": "2" } });
    });

  test("consumers that no master made are named, and those of the masters are made again", async () => {
    await using fleet = await guarded();
    const { consumers } = fleet;
    await consumers.add("events", { durable_name: "spy", ack_policy: AckPolicy.None });
    await consumers.add("job-events", {
      ...{ durable_name: "copy", deliver_subject: "svc.job.request", ack_policy: AckPolicy.None },
    });
    const own = { durable_name: "schedule-results", ack_policy: AckPolicy.Explicit };
    await consumers.add("job-events", { ...own, filter_subject: "svc.job.*.ack.*" });
    await consumers.add("KV_compliance", {
      ...{ durable_name: "compliance-events", ack_policy: AckPolicy.Explicit },
      filter_subject: "$KV.compliance.*",
    });
    const { changed, foreign } = await lintBus(fleet.bus, retention);
    expect(changed).toEqual([
      { stream: "job-events", consumer: "schedule-results", fields: ["filter_subject"] },
    ]);
    expect(foreign.map(({ stream, name, delivers_to: to }) => [stream, name, to]).toSorted()).toEqual([
      ["events", "spy", undefined],
      ["job-events", "copy", "svc.job.request"],
    ]);
    const guard = fleet.start();
    await until(() => fleet.state.restored === 1);
    expect((await lintBus(fleet.bus, retention)).changed).toEqual([]);
    guard.stop();
  });

  describe("what nobody owns", () => {
    const job = "job-3MPFSICSuHM6n9ASVzK0s68GQu3";
    const other = "job-3MPFSICSuHM6n9ASVzK0s68GQu4";
    const owned = [
      `svc.job.${job}.return.web-1`,
      `svc.job.${other}.schedule.web-1`,
      "svc.event.web-1.disk.full",
      "svc.event._master.svc.x",
      "$KV.facts.web-1",
    ];
    const foreign = [
      `svc.job.${other}.return.web-1`,
      `svc.job.${other}.schedule.nobody`,
      "svc.event.nobody.disk.full",
      "$KV.facts.nobody",
    ];
    const kept = ["$KV.enrollments.nobody", "svc.audit.nobody"];

    async function filled() {
      const fleet = await guarded();
      await fleet.jobs.put(job, encode({}));
      for (const subject of [...owned, ...foreign, ...kept]) {
        await fleet.bus.nats.request(subject, encode({}), { timeout: 5_000 });
      }
      const left = async () => {
        const found = await Promise.all(
          ["job-events", "events", "KV_facts", "KV_enrollments", "audit"].map(async (stream) =>
            Object.keys((await fleet.streams.info(stream, { subjects_filter: ">" })).state.subjects ?? {}),
          ),
        );
        return found.flat().toSorted();
      };
      return { ...fleet, left, [Symbol.asyncDispose]: fleet[Symbol.asyncDispose] };
    }

    if (hasMetadata)
      test("is removed between 60 s and 120 s later, and nothing else is", async () => {
        await using fleet = await filled();
        const everything = [...owned, ...foreign, ...kept].toSorted();
        const guard = fleet.start();
        fleet.clock.advance(40_000);
        await until(async () => (await lintBus(fleet.bus, retention)).changed.length === 0);
        expect(await fleet.left()).toEqual(everything);
        fleet.clock.advance(40_000);
        await until(async () => (await fleet.left()).length === everything.length - foreign.length);
        expect(await fleet.left()).toEqual([...owned, ...kept].toSorted());
        guard.stop();
      });

    test("stays while the bus has less than the log of decisions", async () => {
      await using fleet = await filled();
      fleet.state.isWhole = false;
      const guard = fleet.start();
      for (let at = 0; at < 10; at++) fleet.clock.advance(20_000);
      await until(async () => (await lintBus(fleet.bus, retention)).changed.length === 0);
      expect(await fleet.left()).toHaveLength(owned.length + foreign.length + kept.length);
      guard.stop();
    });

    if (hasMetadata)
      test("stays for ten minutes after a restore", async () => {
        await using fleet = await filled();
        const found = await fleet.config("events");
        const at = new Date(fleet.clock.now()).toISOString();
        await fleet.streams.update("events", {
          ...found,
          metadata: { ...found.metadata, "svc.restored_at": at },
        });
        const guard = fleet.start();
        const pass = async (ms: number) => {
          for (let left = ms; left > 0; left -= 20_000) {
            fleet.clock.advance(20_000);
            await until(async () => (await lintBus(fleet.bus, retention)).changed.length === 0);
          }
        };
        await pass(580_000);
        expect(await fleet.left()).toHaveLength(owned.length + foreign.length + kept.length);
        await pass(60_000);
        await until(async () => (await fleet.left()).length === owned.length + kept.length);
        guard.stop();
      });
  });
});
