import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RequestStrategy } from "nats";
import { systemRandom } from "../../internal/base/id.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { mintMember, peelsAccountKey } from "../fleet/credentials.ts";
import { openWire } from "../fleet/light/wire.ts";
import { connectTo, natsServerVersions, startBus, type TestBus } from "../harness/bus.ts";
import { startCluster } from "../harness/cluster.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, operate } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// A peel that fights its revocation, and one that speaks in the name of another: with each version of nats-server.

/** A client of a peel that connects again at once, whenever its connection ends. */
interface Fighter {
  /** Attempts that ended, and how many of those that began after `mark` were accepted. */
  readonly ended: number;
  readonly acceptedSince: number;
  mark(): void;
  stop(): void;
}

/** @param reported the key that the client names next to its JWT */
function fight(bus: Pick<TestBus, "url" | "caPem">, peel: EnrolledPeel, reported?: string): Fighter {
  const { jwt, key } = parseCredentials(peel.credentials);
  const { port } = new URL(bus.url);
  let [ended, acceptedSince, marks, stopped] = [0, 0, 0, false];
  let close = () => {};
  const open = () => {
    if (stopped) return;
    const marked = marks;
    const wire = openWire({
      host: "127.0.0.1",
      port: Number(port),
      caPem: bus.caPem,
      first: "",
      onMessage() {},
      connect: (nonce) => ({
        ...{ verbose: false, pedantic: false, lang: "fighter", version: "1", protocol: 1, jwt },
        ...(reported === undefined ? {} : { nkey: reported }),
        sig: Buffer.from(key.sign(Buffer.from(nonce))).toString("base64url"),
      }),
      onOpen() {
        if (marked > 0) acceptedSince++;
      },
      onClose() {
        ended++;
        setImmediate(open);
      },
    });
    close = wire.close;
  };
  open();
  return {
    get ended() {
      return ended;
    },
    get acceptedSince() {
      return acceptedSince;
    },
    mark: () => void marks++,
    stop() {
      stopped = true;
      close();
    },
  };
}

/** A bus, and the addresses at which peels fight. */
interface Arena extends AsyncDisposable {
  bus: TestBus;
  doors: readonly Pick<TestBus, "url" | "caPem">[];
}

const arenas: [name: string, open: () => Promise<Arena>][] = [
  ...natsServerVersions().map(({ version, path }): (typeof arenas)[number] => [
    `nats-server ${version}`,
    async () => {
      const bus = await startBus({ server: path });
      return { bus, doors: [bus], [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
    },
  ]),
  [
    "a cluster of three",
    async () => {
      const cluster = await startCluster();
      return {
        bus: cluster.bus,
        doors: cluster.nodes,
        [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
      };
    },
  ],
];

describe.each(arenas)("%s", (_, open) => {
  let arena: Arena;
  let bus: TestBus;
  let master: TestMaster;
  beforeAll(async () => {
    arena = await open();
    bus = arena.bus;
    master = await startMaster(bus);
  }, 90_000);
  afterAll(async () => {
    await master?.[Symbol.asyncDispose]();
    await arena?.[Symbol.asyncDispose]();
  });

  /** The JWTs of all connections of peels, as the server has them. */
  const connected = async () => {
    const system = await connectTo(bus, "system");
    const query = JSON.stringify({ auth: true, acc: peelsAccountKey(bus.authDir).publicKey });
    const found: string[] = [];
    const all = { strategy: RequestStrategy.Count, maxMessages: arena.doors.length, maxWait: 30_000 };
    for await (const reply of await system.nats.requestMany("$SYS.REQ.SERVER.PING.CONNZ", query, all)) {
      const { data } = reply.json<{ data: { connections: { jwt?: string }[] } }>();
      found.push(...data.connections.map(({ jwt = "" }) => jwt));
    }
    await system.nats.close();
    return found;
  };

  test.each(["suspend", "revoke"] as const)(
    "after the answer to %s, a peel that connects again without a pause is not connected",
    async (what) => {
      const [peel, other] = await Promise.all(
        [what, `other-${what}`].map((name) => enrollPeel(master, name)),
      );
      if (peel === undefined || other === undefined) throw new Error("no peels");
      await using bystander = await connectPeel(bus, other);
      const { jwt, key } = parseCredentials(peel.credentials);
      const another = newKeyPair("user", systemRandom).publicKey;
      const fighters = arena.doors.flatMap((door) =>
        [undefined, undefined, key.publicKey, another].map((reported) => fight(door, peel, reported)),
      );
      await until(connected, (all) => all.includes(jwt));
      expect((await operate(master, peel.enrollmentId, what)).status).toBe(200);
      for (const fighter of fighters) fighter.mark();
      expect(await connected()).not.toContain(jwt);
      const before = fighters.map(({ ended }) => ended);
      await until(
        () => fighters.every(({ ended }, at) => ended > (before[at] ?? 0) + 2),
        (tried) => tried,
      );
      expect(fighters.filter(({ acceptedSince }) => acceptedSince > 0)).toEqual([]);
      expect(await connected()).not.toContain(jwt);
      for (const fighter of fighters) fighter.stop();
      await bystander.nats.flush();
      expect(bystander.records).toEqual([]);
    },
  );

  test("a peel that names the key of another one next to its JWT does not speak for it", async () => {
    const [liar, victim] = [await enrollPeel(master, "liar"), await enrollPeel(master, "victim")];
    await using connection = await connectPeel(bus, victim);
    const fighter = fight(bus, liar, parseCredentials(victim.credentials).key.publicKey);
    const logged = (event: string) => until(() => master.records.some((record) => record.event === event));
    await logged("a connection named another key than that of its credentials");
    fighter.stop();
    // Who has no record is refused. By then the victim would be as well, if the liar were taken for it.
    await using _ = await connectPeel(bus, mintMember("stray", peelsAccountKey(bus.authDir)));
    await logged("a peel without a valid record was refused");
    await connection.nats.flush();
    expect(connection.records).toEqual([]);
    await using again = await connectPeel(bus, victim);
    expect(again.records).toEqual([]);
  });
});
