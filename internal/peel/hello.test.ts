import { expect, test } from "bun:test";
import { manualClock } from "../../test/harness/clock.ts";
import { recordingLog } from "../../test/harness/log.ts";
import { decode, encode } from "../base/msgpack.ts";
import type { Connection } from "./connection.ts";
import { startHello } from "./hello.ts";

const clusterInfo = { v: 1, nats_urls: ["tls://bus.example:4222"] };
const good = () => Promise.resolve(encode({ server_time: "", cluster_info: clusterInfo }));
const settle = () => new Promise((resolve) => setImmediate(resolve));

function hello(answer: () => Promise<Uint8Array>, jitter = 0.5) {
  const clock = manualClock();
  const told: unknown[] = [];
  const commands: Uint8Array[] = [];
  const log = recordingLog();
  const requests: { subject: string; data: unknown }[] = [];
  let hint = () => {};
  let connect = () => {};
  const connection = {
    connected: true,
    request(subject: string, data: Uint8Array) {
      requests.push({ subject, data: decode(data) });
      return answer();
    },
    subscribe(subject: string, run: () => void) {
      expect(subject).toBe("$KV.secrets._cluster_info");
      hint = run;
    },
    onConnect(run: () => void) {
      connect = run;
      run();
      return () => {};
    },
  };
  const running = startHello({
    connection: connection as unknown as Connection,
    peelId: "web-1",
    onCluster: async (document) => {
      told.push(document.nats_urls);
    },
    onCommand: (command) => commands.push(command),
    clock,
    jitter: () => jitter,
    log,
  });
  return {
    clock,
    told,
    commands,
    log,
    requests,
    connection,
    running,
    hint: () => hint(),
    connect: () => connect(),
  };
}

test("asks on its own subject after each connect, a little later", async () => {
  const { clock, requests, told, connect } = hello(good);
  expect(requests).toEqual([]);
  clock.advance(1_000);
  await settle();
  expect(requests).toMatchObject([
    { subject: "svc.peel.web-1.hello", data: { version: expect.any(String) } },
  ]);
  expect(told).toEqual([clusterInfo.nats_urls]);
  connect();
  clock.advance(1_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test("many hints at once are one request", async () => {
  const { clock, requests, hint } = hello(good);
  clock.advance(1_000);
  await settle();
  for (let i = 0; i < 1_000; i++) hint();
  clock.advance(60_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test("a hint that comes while it asks is not forgotten", async () => {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const { clock, requests, hint } = hello(() => promise);
  clock.advance(1_000);
  hint();
  resolve(await good());
  await settle();
  clock.advance(5_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test.each([
  ["no answer", () => Promise.reject(new Error("timeout"))],
  ["junk", () => Promise.resolve(Buffer.from("junk"))],
  ["an error", () => Promise.resolve(encode({ ok: false, error: { code: "internal", message: "" } }))],
  ["a list", () => Promise.resolve(encode([1]))],
  ["no document", () => Promise.resolve(encode({ cluster_info: { nats_urls: "tls://x:1" } }))],
])("%s is asked again, ever more slowly", async (_, answer) => {
  const { clock, requests, told } = hello(answer, 0.999_999);
  for (let minute = 0; minute < 60; minute++) {
    for (let i = 0; i < 6; i++) {
      clock.advance(10_000);
      await settle();
    }
  }
  expect(requests.length).toBeGreaterThan(12);
  expect(requests.length).toBeLessThan(20);
  expect(told).toEqual([]);
});

test("nothing is asked while disconnected or after stopping, and no timer is left", async () => {
  const { clock, requests, connection, running, hint } = hello(good);
  connection.connected = false;
  clock.advance(60_000);
  running.stop();
  connection.connected = true;
  hint();
  clock.advance(60_000);
  await settle();
  expect([requests, clock.pending]).toEqual([[], 0]);
});
