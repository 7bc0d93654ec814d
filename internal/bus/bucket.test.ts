import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../test/harness/bus.ts";
import { recordingLog } from "../../test/harness/log.ts";
import { provision, provisionOne } from "./assets.ts";
import { type Bucket, type Change, openBucket } from "./bucket.ts";
import type { Bus } from "./connect.ts";
import { createSystemBus } from "./system.ts";

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
  expect(await system.lookupClaims(subject)).toEqual([account.trim()]);
  system.stop();
  await connection.drain();
});
