import { expect, setDefaultTimeout, test } from "bun:test";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { readRange } from "../../internal/bus/streams/read-range.ts";
import { readEntry } from "../../internal/fleet/audit/entry.ts";
import { connectTo, startBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { startMasterBinary } from "../harness/fleet.ts";
import { startMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { operatorConfig, svc } from "../harness/svc.ts";

// A master that is killed in the middle of its work, as often as it takes to hit it between an entry and its end.

setDefaultTimeout(120_000);

test("a master that is killed leaves nothing undocumented, and nothing false", async () => {
  await using bus = await startBus();
  await using witness = await startMaster(bus);
  const owner = await connectTo(bus, "master");
  const peel = await enrollPeel(witness, "web-1");
  const entries = async () =>
    (await readRange(owner, "audit", { from: 1, count: 10_000 })).map(({ data }) => readEntry(data));
  let open: number[] = [];
  for (let round = 0; open.length === 0 && round < 10; round++) {
    await using master = await startMasterBinary(bus);
    let seen = 0;
    const killed = Promise.withResolvers<void>();
    const listening = owner.nats.subscribe("svc.audit.>", {
      callback() {
        if (++seen !== 5) return;
        master.program.kill("SIGKILL");
        killed.resolve();
      },
    });
    await owner.nats.flush();
    const jobs = Array.from({ length: 40 }, () =>
      send(master.url, bus.caPem, {
        ...{ method: "POST", path: "/api/v1/jobs", from: freshAddress() },
        headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
        body: JSON.stringify({ targets: [peel.peelId], function: "test.ping" }),
      }).catch(() => undefined),
    );
    await killed.promise;
    await Promise.all(jobs);
    listening.unsubscribe();
    const all = await entries();
    const ended = new Set(all.map(({ subjects }) => subjects.begun));
    open = all.filter(({ outcome, seq }) => outcome === "begun" && !ended.has(seq)).map(({ seq }) => seq);
  }
  expect(open.length).toBeGreaterThan(0);
  // The next start writes nothing about what it does not know.
  const before = (await entries()).length;
  await using _ = await startMasterBinary(bus);
  const all = await entries();
  expect(all).toHaveLength(before);
  // Each job has an entry that was written before it, and each end is that of a job.
  const jobs = new Set((await (await openBucket(owner, "jobs")).entries()).map(({ key }) => key));
  const done = all.filter(({ outcome, action }) => outcome === "done" && action === "jobs.create");
  for (const { subjects } of done) expect(jobs.has(String(subjects.job))).toBe(true);
  const begun = all.filter(({ outcome, action }) => outcome === "begun" && action === "jobs.create");
  expect(jobs.size).toBeLessThanOrEqual(begun.length);
  const config = operatorConfig(bus);
  expect(await svc(["audit", "verify", "--config", config])).toMatchObject({ exit: 0 });
  await owner.drain();
});
