import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemRandom } from "../../internal/base/id.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { mintMember, peelsAccountKey } from "../fleet/credentials.ts";
import { openWire } from "../fleet/light/wire.ts";
import { connectTo, natsServerVersions, startBus, type TestBus } from "../harness/bus.ts";
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

/** @param told the key that the client names next to its JWT */
function fight(bus: TestBus, peel: EnrolledPeel, told?: string): Fighter {
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
        ...(told === undefined ? {} : { nkey: told }),
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

describe.each(natsServerVersions())("nats-server $version", ({ path }) => {
  let bus: TestBus;
  let master: TestMaster;
  beforeAll(async () => {
    bus = await startBus({ server: path });
    master = await startMaster(bus);
  }, 60_000);
  afterAll(async () => {
    await master?.[Symbol.asyncDispose]();
    await bus?.[Symbol.asyncDispose]();
  });

  /** The JWTs of all connections of peels, as the server has them. */
  const connected = async () => {
    const system = await connectTo(bus, "system");
    const query = JSON.stringify({ auth: true, acc: peelsAccountKey(bus.authDir).publicKey });
    const reply = await system.nats.request("$SYS.REQ.SERVER.PING.CONNZ", query, { timeout: 30_000 });
    await system.nats.close();
    return reply
      .json<{ data: { connections: { jwt?: string }[] } }>()
      .data.connections.map(({ jwt = "" }) => jwt);
  };

  test("a revoked peel that connects again without a pause is not connected after the answer", async () => {
    const [peel, other] = [await enrollPeel(master, "fighter"), await enrollPeel(master, "peaceful")];
    await using bystander = await connectPeel(bus, other);
    const { jwt, key } = parseCredentials(peel.credentials);
    const another = newKeyPair("user", systemRandom).publicKey;
    const fighters = [undefined, undefined, key.publicKey, another].map((told) => fight(bus, peel, told));
    await until(connected, (all) => all.includes(jwt));
    expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
    for (const fighter of fighters) fighter.mark();
    expect(await connected()).not.toContain(jwt);
    const before = fighters.map(({ ended }) => ended);
    await until(
      () => fighters.every(({ ended }, at) => ended > (before[at] ?? 0) + 2),
      (tried) => tried,
    );
    expect(fighters.map(({ acceptedSince }) => acceptedSince)).toEqual([0, 0, 0, 0]);
    expect(await connected()).not.toContain(jwt);
    for (const fighter of fighters) fighter.stop();
    await bystander.nats.flush();
    expect(bystander.records).toEqual([]);
  });

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
