import { expect, test } from "bun:test";
import { connectTo, startBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { provision } from "../../bus/assets/assets.ts";
import { createRecentStreams } from "../../bus/streams/recent-streams.ts";
import { watchRoom } from "./room.ts";

test("storage that was not provisioned, or was removed, is named with the next step until it exists", async () => {
  await using files = await startBus();
  const bus = await connectTo(files, "master");
  const log = recordingLog();
  const provisionAll = () => provision(bus, { replicas: 1, onlyRaise: true }, log);
  await provisionAll();
  const streams = createRecentStreams(bus);
  const room = watchRoom({ bus, streams, name: "m-1", provision: provisionAll, replicas: () => 1, log });
  try {
    expect(await room.check()).toEqual({ status: "up" });
    const { streams } = await bus.nats.jetstreamManager();
    // In memory, and created again when it is needed.
    await streams.delete("KV_enroll-challenges");
    expect(await room.check()).toEqual({ status: "up" });
    for (const name of ["KV_rollouts", "OBJ_states"]) await streams.delete(name);
    expect(await room.check()).toEqual({
      status: "degraded",
      message: "the bus does not offer KV_rollouts, OBJ_states",
      next: expect.stringContaining("systemctl restart svc-master"),
    });
    await provisionAll();
    expect(await room.check()).toEqual({ status: "up" });
  } finally {
    room.stop();
    await bus.nats.close();
  }
});
