import { afterAll, beforeAll, expect, test } from "bun:test";
import { defined } from "../../internal/base/defined.ts";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { assertStored } from "../../internal/bus/jetstream/stored.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo } from "../harness/bus.ts";
import { startCluster, type TestCluster } from "../harness/cluster.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { type FloodKind, floodKinds, startFlood } from "../harness/flooder.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  type PeelConnection,
} from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// On a cluster, masters share what peels send to the storage, and let only a part of a flood pass. One peel after the
// other floods, until the bus has ended it. Another peel works meanwhile, and nothing of it is lost.

let cluster: TestCluster;
let masters: MasterDaemon[];
let stored: Bus;
let other: EnrolledPeel;
let honest: PeelConnection;

const door = () => {
  const [first] = masters;
  if (first === undefined) throw new Error("no master runs");
  return { url: first.url, ca: cluster.bus.caPem, token: first.token };
};

beforeAll(async () => {
  cluster = await startCluster();
  masters = [];
  for (const node of cluster.nodes) masters.push(await startMasterBinary(cluster.through(node)));
  stored = await connectTo(cluster.bus, "master");
  other = await enrollPeel(door(), "honest");
  honest = await connectPeel(cluster.bus, other);
}, 180_000);
afterAll(async () => {
  await honest?.[Symbol.asyncDispose]();
  await stored?.nats.close();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const kindOf = (name: string): FloodKind => {
  const kind = floodKinds.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`no flood with ${name}`);
  return kind;
};

// Many times what is a flood at once, and over long before it lasts ten seconds, as a flood below that has to.
const facts = { ...kindOf("facts"), minMessages: 20_000 };
const events = kindOf("events");

const attacks: [string, FloodKind, string][] = [
  ["facts without a reply subject", facts, "facts"],
  ["events without a reply subject", events, "events"],
  ["facts that are acknowledged", { ...facts, isRequest: true }, "facts"],
  // On a slow machine, all that was relayed may be seen as a flood before the events are.
  ["events that are acknowledged", { ...events, isRequest: true }, "(events|relayed)"],
  ["heartbeats without a reply subject", kindOf("heartbeats"), "heartbeats"],
];

let round = 0;

test.each(attacks)(
  "a flood of %s ends, and nothing of another peel is lost",
  async (_, kind, budget) => {
    const peelId = `flood-${++round}`;
    const peel = await enrollPeel(door(), peelId);
    await using flood = await startFlood(cluster.bus, peel, kind);
    const ended = flood.ended();
    await report(peelId);
    await ended;
    // Any master answers, and one may follow the records later than another.
    const { suspended } = await shown(peel.enrollmentId, (found) => found.suspended !== undefined);
    expect(suspended?.reason).toMatch(new RegExp(`^sent more than ten times its budget of ${budget}$`));
    expect(await shown(other.enrollmentId)).not.toHaveProperty("suspended");
    // Masters may still store some of what they were to acknowledge.
    if (kind.isRequest) return;
    const manager = await stored.nats.jetstreamManager({ checkAPI: false });
    const subjects = async (of: string) =>
      Object.keys((await manager.streams.info("events", { subjects_filter: of })).state.subjects ?? {});
    expect(await subjects(eventSubject(peelId, ">"))).toEqual([]);
    expect(await subjects(eventSubject("honest", ">"))).toContain(eventSubject("honest", peelId));
  },
  120_000,
);

interface Shown {
  suspended?: { reason: string };
}

/** The record of an enrollment, as soon as a master shows it as it is wanted. */
async function shown(enrollmentId: string, isWanted: (found: Shown) => boolean = () => true): Promise<Shown> {
  const { record } = await until(
    async (): Promise<{ record?: Shown; stderr: string }> => {
      const { code, stdout, stderr } = await svc(
        cluster.bus,
        "enroll",
        "show",
        enrollmentId,
        "--output",
        "json",
      );
      if (code !== 0) return { stderr };
      const { Suspended: suspended } = JSON.parse(stdout);
      return { record: defined({ suspended }), stderr };
    },
    ({ record }) => record !== undefined && isWanted(record),
    100_000,
  );
  if (record === undefined) throw new Error(`no master shows ${enrollmentId}`);
  return record;
}

/** Sends an event of the honest peel until it is stored, as peels do. */
async function report(name: string): Promise<void> {
  for (;;) {
    const sent = honest.nats.request(eventSubject("honest", name), encode({ data: {} }), { timeout: 5_000 });
    const answer = await sent.catch(() => undefined);
    if (answer === undefined) continue;
    assertStored(answer.data);
    return;
  }
}
