import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { growReplicas } from "./grow-replicas.ts";

/** Streams that are measured every ten seconds for an hour of simulated time. */
async function anHour(refuses: boolean) {
  const clock = manualClock();
  const cluster = { servers: 1, replicas: 1, provisioned: [] as number[] };
  const start = clock.monotonic();
  const check = growReplicas({
    clock,
    wanted: () => Math.min(3, cluster.servers),
    async provision() {
      cluster.provisioned.push((clock.monotonic() - start) / 1000);
      if (!refuses) cluster.replicas = cluster.servers;
    },
  });
  for (let seconds = 0; seconds < 3600; seconds += 10) {
    if (seconds === 20) cluster.servers = 3;
    await check([{ replicas: 3 }, { replicas: cluster.replicas }]);
    clock.advance(10_000);
  }
  return cluster.provisioned;
}

test("a cluster that grew gets its replicas at the next measurement, once", async () => {
  expect(await anHour(false)).toEqual([20]);
});

test("a cluster that cannot give them is asked at growing pauses", async () => {
  expect(await anHour(true)).toEqual([20, 30, 50, 90, 170, 330, 650, 1290, 2570]);
});
