import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { headers } from "nats";
import { mintMember, peelsAccountKey } from "../../../test/fleet/credentials.ts";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { until } from "../../../test/harness/until.ts";
import { systemClock } from "../../base/clock.ts";
import { provision, provisionOne } from "../assets/assets.ts";
import { type Bus, connectBus } from "../connection/connect.ts";
import { purgeSubject } from "../jetstream/purge-subject.ts";
import { createSystemBus } from "../servers/system.ts";
import { type Bucket, openBucket } from "./bucket.ts";
import type { Change } from "./entry.ts";

let server: TestBus;
let bus: Bus;
let bucket: Bucket;
const single = { replicas: 1, onlyRaise: true };
const bytes = (text: string) => Buffer.from(text);

beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
  await provision(bus, single, recordingLog());
  bucket = await openBucket(bus, "enrollments");
});
afterAll(async () => {
  await bus.drain();
  await server[Symbol.asyncDispose]();
});

describe("compare-and-swap", () => {
  test("one of two creations wins", async () => {
    const won = await Promise.all([bucket.create("a", bytes("1")), bucket.create("a", bytes("2"))]);
    expect(won.filter((revision) => revision !== undefined)).toHaveLength(1);
  });

  test("an update names the latest revision or changes nothing", async () => {
    const revision = (await bucket.create("b", bytes("1"))) ?? 0;
    const won = await Promise.all(["2", "3", "4"].map((text) => bucket.update("b", bytes(text), revision)));
    expect(won.filter((one) => one !== undefined)).toHaveLength(1);
  });

  test("a removal is a compare-and-swap too, and the key can be created again", async () => {
    const revision = (await bucket.create("c", bytes("1"))) ?? 0;
    const won = await Promise.all([bucket.remove("c", revision), bucket.remove("c", revision)]);
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await bucket.get("c")).toBeUndefined();
    expect(await bucket.create("c", bytes("2"))).toBeDefined();
  });
});

test("what a bucket of decisions held of a key is there until the key is removed", async () => {
  const first = (await bucket.create("h", bytes("1"))) ?? 0;
  const second = (await bucket.update("h", bytes("2"), first)) ?? 0;
  const held = async () => (await bucket.history("h")).map(({ value }) => Buffer.from(value).toString());
  expect(await held()).toEqual(["1", "2"]);
  expect(await bucket.remove("h", second)).toBe(true);
  expect(await held()).toEqual([]);
  expect(await bucket.create("h", bytes("3"))).toBeDefined();
  expect(await held()).toEqual(["3"]);
});

describe.each(["enrollments", "revocations"])("the bucket %s", (name) => {
  test("takes no rollup header, from nobody", async () => {
    const decisions = await openBucket(bus, name);
    await decisions.put("kept", bytes("1"));
    for (const rollup of ["all", "sub"]) {
      const header = headers();
      header.set("Nats-Rollup", rollup);
      const reply = await bus.nats.request(`$KV.${name}.other`, "x", {
        headers: header,
        timeout: 5_000,
      });
      expect(reply.json()).toMatchObject({ error: { err_code: 10111 } });
    }
    expect(await decisions.get("kept")).toBeDefined();
    expect(await decisions.get("other")).toBeUndefined();
  });
});

test("a read takes one key, never a pattern", async () => {
  await bucket.put("pattern", bytes("x"));
  for (const key of ["*", ">", "pat*", "a b", ""]) {
    await expect(bucket.get(key)).rejects.toThrow(expect.objectContaining({ kind: "bad_request" }));
  }
});

test("entries are the current values", async () => {
  const revision = await bucket.put("gone", bytes("x"));
  await bucket.remove("gone", revision);
  await bucket.put("kept", bytes("y"));
  const keys = (await bucket.entries()).map(({ key }) => key);
  expect(keys).toContain("kept");
  expect(keys).not.toContain("gone");
});

test("a watch delivers existing and new values, also after the bus was killed and restarted", async () => {
  await bucket.put("w", bytes("before"));
  const seen: Change[] = [];
  const watch = bucket.watch((change) => seen.push(change));
  const latest = () => Buffer.from(seen.findLast(({ key }) => key === "w")?.value ?? []).toString();
  await watch.ready;
  expect(latest()).toBe("before");
  await bucket.put("w", bytes("after"));
  await watch.caughtUp();
  expect(latest()).toBe("after");
  const back = new Promise<void>((resolve) => bus.onReconnect(resolve));
  await server.restart("SIGKILL");
  await back;
  await bucket.put("w", bytes("restarted"));
  await watch.caughtUp();
  expect(latest()).toBe("restarted");
  watch.stop();
});

describe("a watch that is fed by a server that lags behind", () => {
  /** The same bus, where the first watches of buckets deliver nothing, and say that nothing is stored. */
  function lagging(watches: number) {
    const log = recordingLog();
    const started = { watches: 0 };
    const nats = Object.create(bus.nats, {
      jetstream: {
        value: (...given: Parameters<typeof bus.nats.jetstream>) => {
          const jetstream = bus.nats.jetstream(...given);
          const views = {
            kv: async (...names: Parameters<typeof jetstream.views.kv>) => {
              const kv = await jetstream.views.kv(...names);
              const watch: typeof kv.watch = async (options) => {
                if (++started.watches > watches) return kv.watch(options);
                const silent = await kv.watch({ ...options, key: "lags-behind", initializedFn: () => {} });
                options?.initializedFn?.();
                return silent;
              };
              return Object.create(kv, { watch: { value: watch } });
            },
          };
          return Object.create(jetstream, { views: { value: views } });
        },
      },
    });
    // A hundred times as fast, until a watch that delivers starts again, which takes what it takes.
    const isRestarting = () => Number.isFinite(watches) && log.records.length > 0;
    const after = (ms: number, run: () => void) => systemClock.after(isRestarting() ? ms : ms / 100, run);
    const lagged: Bus = Object.create(bus, {
      nats: { value: nats },
      log: { value: log },
      clock: { value: { ...systemClock, after } },
    });
    return { lagged, records: log.records, started };
  }

  test("is started again, and then complete", async () => {
    await bucket.put("lag", bytes("stored"));
    const { lagged, records, started } = lagging(1);
    const seen: string[] = [];
    const watch = (await openBucket(lagged, "enrollments")).watch(({ key }) => void seen.push(key));
    await watch.ready;
    expect(seen).toEqual([]);
    // The second one does not stop what the first one has started again.
    await Promise.all([watch.caughtUp(), watch.caughtUp()]);
    expect(seen).toContain("lag");
    expect(started.watches).toBe(2);
    expect(records.map(({ event }) => event)).toContain("a bucket watch lags behind");
    watch.stop();
  });

  test("does not pass as complete", async () => {
    const { lagged } = lagging(Number.POSITIVE_INFINITY);
    const watch = (await openBucket(lagged, "enrollments")).watch(() => {});
    await expect(watch.caughtUp()).rejects.toMatchObject({ kind: "unavailable" });
    watch.stop();
  });
});

test("a watch does not wait for what was removed or has expired", async () => {
  const heartbeats = await openBucket(bus, "peel-heartbeat");
  await heartbeats.put("gone", bytes("x"));
  await purgeSubject(bus, "KV_peel-heartbeat", "$KV.peel-heartbeat.gone");
  const log = recordingLog();
  const watch = (await openBucket(Object.create(bus, { log: { value: log } }), "peel-heartbeat")).watch(
    () => {},
  );
  await watch.caughtUp();
  expect(log.records).toEqual([]);
  watch.stop();
});

test("a restart loses only the bucket in memory, which is created again when it is needed", async () => {
  const plain = await openBucket(bus, "enroll-challenges");
  await expect(plain.create("chl-x", bytes("1"))).rejects.toThrow(
    expect.objectContaining({ kind: "storage" }),
  );
  const challenges = await openBucket(bus, "enroll-challenges", () =>
    provisionOne(bus, "enroll-challenges", single, recordingLog()),
  );
  expect(await challenges.create("chl-x", bytes("1"))).toBeDefined();
  expect(await bucket.get("w")).toBeDefined();
});

test("the system view counts servers and reads the claims they hold", async () => {
  const connection = await connectTo(server, "system");
  const system = await createSystemBus(connection);
  expect(system.servers()).toEqual({ total: 1, jetstream: 1 });
  const account = await Bun.file(`${server.authDir}/account.jwt`).text();
  const subject = JSON.parse(Buffer.from(account.split(".")[1] ?? "", "base64url").toString()).sub;
  expect(await system.lookupClaims(subject)).toEqual([{ jwt: account.trim() }]);
  system.stop();
  await connection.drain();
});

test("all followers of the connections of an account get each, and the bus sends it once", async () => {
  const connection = await connectTo(server, "system");
  const subscribed: string[] = [];
  const nats: typeof connection.nats = Object.create(connection.nats, {
    subscribe: {
      value(...[subject, options]: Parameters<typeof connection.nats.subscribe>) {
        subscribed.push(subject);
        return connection.nats.subscribe(subject, options);
      },
    },
  });
  const system = await createSystemBus(Object.create(connection, { nats: { value: nats } }));
  const member = mintMember("web-1", peelsAccountKey(server.authDir));
  const account = peelsAccountKey(server.authDir).publicKey;
  const seen: string[] = [];
  const follow = (name: string) =>
    system.followConnections(account, {
      began: (one) => void seen.push(`${name} began ${one.name} ${one.user}`),
      ended: (one) => void seen.push(`${name} ended ${one.name} ${one.user}`),
      unsure() {},
    });
  const peel = async () => {
    const { credentials } = member;
    const options = { urls: [server.url], name: "peel", identity: { credentials }, ca: server.caPem };
    const { nats } = await connectBus({ ...options, clock: systemClock, log: recordingLog() });
    await nats.close();
  };
  const subject = (event: string) => `$SYS.ACCOUNT.${account}.${event}`;
  const reported = (name: string) =>
    ["began", "ended"].map((event) => `${name} ${event} web-1 ${member.key.publicKey}`);

  const stops = [follow("first"), follow("second")];
  await connection.nats.flush();
  await peel();
  await until(
    () => seen.length,
    (length) => length === 4,
  );
  expect(seen.toSorted()).toEqual([...reported("first"), ...reported("second")]);
  expect(subscribed.filter((one) => one.startsWith("$SYS.ACCOUNT."))).toEqual([
    subject("CONNECT"),
    subject("DISCONNECT"),
  ]);

  // A remaining listener still gets each. After the last one stopped, the next one subscribes again.
  stops[0]?.();
  seen.length = 0;
  await peel();
  await until(
    () => seen.length,
    (length) => length === 2,
  );
  stops[1]?.();
  follow("third");
  await connection.nats.flush();
  await peel();
  await until(
    () => seen.length,
    (length) => length === 4,
  );
  expect(seen).toEqual([...reported("second"), ...reported("third")]);
  system.stop();
  await connection.nats.close();
});
