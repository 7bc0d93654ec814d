import { expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { provision } from "../../internal/bus/assets/assets.ts";
import { streamEnds } from "../../internal/bus/streams/position.ts";
import { readRange } from "../../internal/bus/streams/read-range.ts";
import { createAuditWriter } from "../../internal/fleet/audit/append.ts";
import { createChainCheck } from "../../internal/fleet/audit/chain.ts";
import { readEntry } from "../../internal/fleet/audit/entry.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { connectTo } from "../harness/bus.ts";
import { startCluster } from "../harness/cluster.ts";
import { recordingLog } from "../harness/log.ts";
import { until } from "../harness/until.ts";

setDefaultTimeout(120_000);

test("masters on a cluster make one chain, also while its servers are killed", async () => {
  await using cluster = await startCluster();
  const log = recordingLog();
  const key = newKeyPair("user", systemRandom);
  const connections = await Promise.all(
    cluster.nodes.map((node) => connectTo(cluster.through(node), "master")),
  );
  const [first] = connections;
  if (first === undefined) throw new Error("no connection");
  await provision(first, { replicas: 3, onlyRaise: true }, log);
  const writers = connections.map((bus, at) =>
    createAuditWriter({
      bus,
      master: `m${at}`,
      signer: key,
      keys: () => [key.publicKey],
      clock: systemClock,
      log,
    }),
  );
  // Until each server knows the leader of the new stream.
  await until(() =>
    Promise.all(
      writers.map(async (writer, at) =>
        writer.refresh(await streamEnds(connections[at] ?? first, "audit"), undefined),
      ),
    ).then(
      () => true,
      () => undefined,
    ),
  );
  const stored = new Set<string>();
  const append = async (id: string, at: number) => {
    await writers[at % writers.length]?.append({
      ...{ operator: "ann", key: "", via: "bus", action: "things.rename", subjects: {}, outcome: "begun" },
      ...{ requestId: id, requestDigest: new Uint8Array(32) },
    });
    stored.add(id);
  };
  // A new cluster may elect another leader: what is refused meanwhile is asked for again, as a new request.
  let missing = Array.from({ length: 150 }, (_, at) => at);
  let round = 0;
  await until(async () => {
    round++;
    const results = await Promise.allSettled(missing.map((at) => append(`calm-${at}-${round}`, at)));
    missing = missing.filter((_, index) => results[index]?.status === "rejected");
    return missing.length === 0;
  });
  expect(stored.size).toBe(150);
  const storm = Array.from({ length: 300 }, (_, at) => append(`storm-${at}`, at).catch(() => {}));
  await cluster.nodes[2]?.stop("SIGKILL");
  await Promise.all(storm);
  await cluster.nodes[2]?.start();
  await Promise.all(Array.from({ length: 60 }, (_, at) => append(`after-${at}`, at % 2).catch(() => {})));
  const messages = await readRange(first, "audit", { from: 1, count: 10_000 });
  const checking = createChainCheck([key.publicKey], 1);
  for (const { sequence, data } of messages) checking.take({ sequence, bytes: data });
  expect(checking.problems).toEqual([]);
  const ids = messages.map(({ data }) => readEntry(data).requestId);
  // What was answered is stored, once.
  expect(new Set(ids).size).toBe(ids.length);
  expect([...stored].filter((id) => !ids.includes(id))).toEqual([]);
  await Promise.all(connections.map((bus) => bus.drain()));
});
