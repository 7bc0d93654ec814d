import { describe, expect, test } from "bun:test";
import { connectTo, natsServerVersions, startBus } from "../../../test/harness/bus.ts";
import { isOlderVersion } from "../../base/dotted-version.ts";
import { reportsStored, storedSubjects } from "./stored-subjects.ts";

describe.each(natsServerVersions())("nats-server $version", ({ version, path }) => {
  test("tells the subjects of a job with stored messages, and is asked only where that is cheap", async () => {
    await using server = await startBus({ server: path });
    const bus = await connectTo(server, "master");
    expect(reportsStored(bus)).toBe(!isOlderVersion(version, "2.10.0"));
    const manager = await bus.nats.jetstreamManager();
    await manager.streams.add({ name: "returns", subjects: ["job.*.return.*"] });
    const put = (job: string, peel: string) =>
      bus.nats.request(`job.${job}.return.${peel}`, "x", { timeout: 5_000 });
    for (const peel of ["a", "b", "b"]) await put("1", peel);
    await put("2", "c");
    const found = (job: string) => storedSubjects(bus, "returns", `job.${job}.return.*`);
    expect([...(await found("1"))].toSorted()).toEqual(["job.1.return.a", "job.1.return.b"]);
    expect((await found("3")).size).toBe(0);
    expect(storedSubjects(bus, "nowhere", ">")).rejects.toMatchObject({ kind: "storage" });
    await bus.nats.close();
  });
});
