import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type MemoryBucket, memoryBucket } from "../../../test/harness/bucket.ts";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { type ManualClock, manualClock } from "../../../test/harness/clock.ts";
import { type LogRecord, recordingLog } from "../../../test/harness/log.ts";
import { observedLog } from "../../../test/harness/peel-connection.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom as random } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { provisionOne } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../bus/storage/bucket.ts";
import { createDocument, parseDocument } from "../../identity/bootstrap/document.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { loadAuthority } from "../../identity/ca/load.ts";
import { spkiPin as pinOf } from "../../identity/trust/pin.ts";
import { clusterInfoKey as key, type Publisher, startPublisher } from "./publish.ts";

let bus: TestBus;
const roots: string[] = [];

beforeAll(async () => {
  bus = await startBus();
  for (const name of ["one", "two"]) {
    const dir = join(bus.dir, name);
    await createAuthority({
      dir,
      organization: name,
      rootValidityMs: 86_400_000,
      clock: systemClock,
      random,
    });
    roots.push((await loadAuthority(dir)).rootPem);
  }
});

afterAll(() => bus[Symbol.asyncDispose]());

const documentOf = (root: number | undefined, ...urls: string[]) => {
  const pem = root === undefined ? "" : (roots[root] ?? "");
  const fingerprint = pem === "" ? "" : pinOf(pem);
  return createDocument({ ca_bundle_pem: pem, fingerprint, nats_urls: urls, command_keys: ["U"] }, 0);
};

const eventsOf = (records: LogRecord[]) =>
  records.map(({ level, event }) => `${level} ${event.split(":")[0]}`);
const published = "info bootstrap document published";
const restored = "warn bootstrap document restored";
const splitCa = "warn split CA";

describe("in memory", () => {
  let secrets: MemoryBucket;
  let clock: ManualClock;
  let writes: number;
  const masters: (Publisher & { records: LogRecord[] })[] = [];

  beforeEach(() => {
    secrets = memoryBucket();
    clock = manualClock();
    writes = 0;
    secrets.beforeWrite = () => {
      if (++writes > 100) throw new Error("the masters do not settle");
    };
  });

  afterEach(() => {
    for (const master of masters.splice(0)) master.stop();
    expect(clock.pending).toBe(0);
  });

  async function start(document: ReturnType<typeof documentOf>, bucket: Bucket = secrets) {
    const log = recordingLog();
    const publisher = startPublisher({ secrets: bucket, document, pinOf, clock, log });
    const master = { ...publisher, records: log.records };
    masters.push(master);
    await settle();
    return master;
  }
  /** Until no master has work in progress; the write of a master is a hint for the others. */
  async function settle() {
    for (let before = -1; before !== writes; ) {
      before = writes;
      for (const master of masters) await master.settled();
    }
  }
  const stored = async () => {
    const entry = await secrets.get(key);
    return entry === undefined ? undefined : parseDocument(decode(entry.value));
  };

  test("publishes once, and does not rewrite equal content", async () => {
    const own = documentOf(0, "tls://a");
    const first = await start(own);
    expect(await stored()).toEqual(own);
    const again = await start({ ...own, issued_at: "2030-01-01T00:00:00.000Z" });
    expect(writes).toBe(1);
    expect(await stored()).toEqual(own);
    expect(eventsOf(first.records)).toEqual([published]);
    expect(again.records).toEqual([]);
  });

  test("two masters with other URLs: the last writer wins, and no writes follow", async () => {
    const first = await start(documentOf(0, "tls://a"));
    const second = await start(documentOf(0, "tls://b"));
    expect((await stored())?.nats_urls).toEqual(["tls://b"]);
    expect(writes).toBe(2);
    first.update(documentOf(0, "tls://c"));
    await settle();
    expect((await stored())?.nats_urls).toEqual(["tls://c"]);
    expect(writes).toBe(3);
    expect([...first.records, ...second.records].filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("masters that rotate a root one after the other each tell the peels once, though the content is equal", async () => {
    const both = {
      ...documentOf(0, "tls://a"),
      fingerprints: [0, 1].map((at) => documentOf(at).fingerprint),
    };
    const rotating = { ...both, ca_bundle_pem: roots.join("") };
    const first = await start(documentOf(0, "tls://a"));
    const second = await start(documentOf(0, "tls://a"));
    for (const { update } of [first, second]) {
      update(rotating);
      await settle();
    }
    expect(writes).toBe(3);
    expect(await stored()).toMatchObject({ fingerprints: rotating.fingerprints });
    for (const { update } of [first, second]) {
      update(documentOf(1, "tls://a"));
      await settle();
    }
    expect(writes).toBe(5);
    // Without another change nothing is published again.
    second.update(documentOf(1, "tls://a"));
    await settle();
    expect(writes).toBe(5);
    expect([...first.records, ...second.records].filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("a split CA is logged once with both fingerprints, and nothing is overwritten", async () => {
    await start(documentOf(0, "tls://a"));
    const second = await start(documentOf(1, "tls://b"));
    expect((await stored())?.fingerprint).toBe(documentOf(0).fingerprint);
    expect(writes).toBe(1);
    expect(second.records.map(({ level, fields }) => [level, fields])).toEqual([
      ["warn", { published: documentOf(0).fingerprint, own: documentOf(1).fingerprint }],
    ]);
    expect(second.records[0]?.event).toStartWith("split CA");
    await secrets.put(key, encode(documentOf(0, "tls://z")));
    await settle();
    expect(second.records).toHaveLength(1);
  });

  test("two external CAs are not a split, but an external and an embedded CA are", async () => {
    const records = [...(await start(documentOf(undefined, "tls://a"))).records];
    records.push(...(await start(documentOf(undefined, "tls://a"))).records);
    expect(eventsOf(records)).toEqual([published]);
    const embedded = await start(documentOf(0));
    expect(eventsOf(embedded.records)).toEqual([splitCa]);
    expect(embedded.records[0]?.fields.published).toBe("none (external)");
    expect(writes).toBe(1);
  });

  test.each([
    ["deleted", async () => secrets.remove(key, (await secrets.get(key))?.revision ?? 0)],
    ["junk", () => secrets.put(key, Buffer.from("junk"))],
    ["of another CA", () => secrets.put(key, encode(documentOf(1, "tls://evil")))],
    [
      "a known pin with a foreign bundle",
      () => secrets.put(key, encode({ ...documentOf(0), ca_bundle_pem: roots[1] })),
    ],
  ])("a document that no master published (%s) is restored, with a warning", async (_, spoil) => {
    const own = documentOf(0, "tls://a");
    const master = await start(own);
    await spoil();
    await settle();
    expect(await stored()).toEqual(own);
    expect(eventsOf(master.records)).toEqual([published, restored]);
  });

  test("one of two masters that saw it damaged restores it", async () => {
    const own = documentOf(0, "tls://a");
    await start(own);
    await start(own);
    await secrets.put(key, Buffer.from("junk"));
    await settle();
    expect(await stored()).toEqual(own);
    expect(
      masters.flatMap(({ records }) => eventsOf(records)).filter((event) => event === restored),
    ).toHaveLength(1);
  });

  test("two masters that both published first settle on one of the two documents", async () => {
    let isBlind = false;
    const first = await start(documentOf(0), {
      ...secrets,
      watch: (onChange) => secrets.watch((change) => isBlind || onChange(change)),
    });
    isBlind = true;
    await secrets.remove(key, (await secrets.get(key))?.revision ?? 0);
    const second = await start(documentOf(1));
    expect(eventsOf(second.records)).toEqual([published]);
    isBlind = false;
    writes = 0;
    await secrets.put(key, encode(documentOf(1, "tls://b")));
    await settle();
    expect(writes).toBeLessThanOrEqual(8);
    const reported = [eventsOf(first.records), eventsOf(second.records)].filter((events) =>
      events.includes(splitCa),
    );
    expect(reported).toHaveLength(1);
    const [before, at] = [writes, (await stored())?.fingerprint];
    clock.advance(3_600_000);
    await settle();
    expect(writes).toBe(before);
    expect((await stored())?.fingerprint).toBe(at ?? "");
  });

  test("a master of another CA does not fill a gap while masters of the published CA remain", async () => {
    const first = await start(documentOf(0));
    const second = await start(documentOf(1));
    first.stop();
    await secrets.remove(key, (await secrets.get(key))?.revision ?? 0);
    await settle();
    expect(await stored()).toBeUndefined();
    clock.advance(5_000);
    await settle();
    expect(await stored()).toEqual(documentOf(1));
    expect(eventsOf(second.records)).toEqual([splitCa, published]);
  });

  test("a root that changes at run time is logged, and the published document stays", async () => {
    const master = await start(documentOf(0));
    master.update(documentOf(1));
    await settle();
    expect(await stored()).toEqual(documentOf(0));
    expect(eventsOf(master.records)).toEqual([published, splitCa]);
  });

  test("an unavailable bucket is read again", async () => {
    secrets.beforeWrite = () => {
      throw new Error("away");
    };
    const master = await start(documentOf(0));
    expect(master.records).toMatchObject([{ level: "warn", fields: { error: "away" } }]);
    secrets.beforeWrite = () => {
      writes++;
    };
    clock.advance(5_000);
    await settle();
    expect(await stored()).toEqual(documentOf(0));
  });
});

describe("on a bus", () => {
  const connections: Bus[] = [];
  const masters: Publisher[] = [];
  let secrets: Bucket;

  beforeEach(async () => {
    const one = await connectTo(bus, "master");
    connections.push(one);
    await provisionOne(one, "secrets", { replicas: 1, onlyRaise: true }, recordingLog());
    secrets = await openBucket(one, "secrets");
    const entry = await secrets.get(key);
    if (entry !== undefined) await secrets.remove(key, entry.revision);
  });

  afterEach(async () => {
    for (const master of masters.splice(0)) master.stop();
    for (const connection of connections.splice(0)) await connection.nats.close();
  });

  async function start(document: ReturnType<typeof documentOf>) {
    const connection = await connectTo(bus, "master");
    connections.push(connection);
    const log = observedLog();
    const own = await openBucket(connection, "secrets");
    const publisher = startPublisher({ secrets: own, document, pinOf, clock: systemClock, log });
    masters.push(publisher);
    await publisher.settled();
    return { ...publisher, records: log.records, logged: log.logged };
  }
  const read = async (bucket: Bucket): Promise<unknown> =>
    decode((await bucket.get(key))?.value ?? new Uint8Array([0xc0]));
  const stored = () => read(secrets);

  test("two masters of one CA write once; with two CAs the first document stays", async () => {
    const own = documentOf(0, "tls://bus:4222");
    await start(own);
    const { revision } = (await secrets.get(key)) ?? {};
    const second = await start(own);
    expect((await secrets.get(key))?.revision).toBe(revision ?? -1);
    expect(second.records).toEqual([]);
    const other = await start(documentOf(1));
    expect(eventsOf(other.records)).toEqual([splitCa]);
    expect(await stored()).toEqual(own);
  });

  test("two masters that start at once agree", async () => {
    const own = documentOf(0, "tls://bus:4222");
    const [one, two] = await Promise.all([start(own), start(own)]);
    expect(eventsOf([...one.records, ...two.records])).toEqual([published]);
    expect(await stored()).toEqual(own);
  });

  test("deletion, junk and a foreign document are undone, by one of two masters", async () => {
    const own = documentOf(0, "tls://bus:4222");
    const one = await start(own);
    const two = await start(own);
    const isRestored = (record: LogRecord) => record.event.startsWith("bootstrap document restored");
    const spoils: [found: string, run: () => Promise<unknown>][] = [
      ["junk", () => secrets.put(key, Buffer.from("junk"))],
      [documentOf(1).fingerprint, () => secrets.put(key, encode(documentOf(1)))],
      ["absent", async () => secrets.remove(key, (await secrets.get(key))?.revision ?? 0)],
    ];
    for (const [found, spoil] of spoils) {
      const seen = (master: typeof one) =>
        master.logged(
          "bootstrap document restored: no master published what was there",
          (fields) => fields.found === found,
        );
      const reported = Promise.race([seen(one), seen(two)]);
      await spoil();
      await reported;
      await one.settled();
      await two.settled();
      expect(await stored()).toEqual(own);
    }
    expect([...one.records, ...two.records].filter(isRestored)).toHaveLength(spoils.length);
  });

  test("it comes back after a restart of the bus that lost it", async () => {
    const own = documentOf(0, "tls://bus:4222");
    const master = await start(own);
    await secrets.put(key, Buffer.from("junk"));
    await master.logged("bootstrap document restored: no master published what was there");
    await bus.restart("SIGKILL");
    const again = await connectTo(bus, "master");
    connections.push(again);
    const reported = master.logged(
      "bootstrap document restored: no master published what was there",
      (f) => f.found === "absent",
    );
    const bucket = await openBucket(again, "secrets");
    await bucket.remove(key, (await bucket.get(key))?.revision ?? 0);
    await reported;
    expect(await read(bucket)).toEqual(own);
  }, 60_000);
});
