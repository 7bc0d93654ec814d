import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, natsServerPath, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { startProgram } from "../../../test/harness/process.ts";
import { systemClock } from "../../base/clock.ts";
import { type BusOptions, busClientSettings, connectBus, resolveBusCa } from "./connect.ts";
import { isUnserved } from "./request.ts";

let server: TestBus;
let options: BusOptions;

beforeAll(async () => {
  server = await startBus();
  options = {
    urls: [server.url],
    name: "test",
    identity: { credentials: readFileSync(join(server.authDir, "master.creds"), "utf8") },
    ca: server.caPem,
    clock: systemClock,
    log: recordingLog(),
  };
});
afterAll(() => server[Symbol.asyncDispose]());

const unavailable = expect.objectContaining({ kind: "unavailable" });

test("a plaintext URL is refused before any connection is opened", async () => {
  for (const url of ["nats://127.0.0.1:4222", "ws://127.0.0.1:4222", "127.0.0.1:4222", "TLS//x"]) {
    await expect(connectBus({ ...options, urls: [url] })).rejects.toThrow(/tls:\/\//);
  }
});

test("credentials are not sent to a server without TLS", async () => {
  await using plain = startProgram([natsServerPath(), "-a", "127.0.0.1", "-p", "-1", "-DV"]);
  await plain.waitFor("Server is ready");
  const port = /client connections on 127\.0\.0\.1:(\d+)/.exec(plain.output())?.[1];
  await expect(connectBus({ ...options, urls: [`tls://127.0.0.1:${port}`] })).rejects.toThrow(unavailable);
  expect(plain.output()).not.toContain("CONNECT");
});

test("a server with a certificate of another CA is refused, and so is one of the right CA for another name", async () => {
  await using other = await startBus();
  await expect(connectBus({ ...options, ca: other.caPem })).rejects.toThrow(unavailable);
  const port = new URL(server.url).port;
  await expect(connectBus({ ...options, urls: [`tls://127.0.0.2:${port}`] })).rejects.toThrow(unavailable);
});

test.each(["drain", "close"] as const)(
  "%s ends a connection for good, also when the bus is away",
  async (end) => {
    await using own = await startBus();
    const [noticed, unnoticed] = [await connectTo(own, "master"), await connectTo(own, "master")];
    const away = Promise.withResolvers<void>();
    void (async () => {
      for await (const status of noticed.nats.status()) if (status.type === "disconnect") away.resolve();
    })();
    await own.stop("SIGKILL");
    const ending = unnoticed[end]();
    await away.promise;
    await Promise.all([ending, noticed[end]()]);
    expect([noticed.nats.isClosed(), unnoticed.nats.isClosed()]).toEqual([true, true]);
  },
);

test("what was published just before the end is sent", async () => {
  const [sender, receiver] = [await connectTo(server, "master"), await connectTo(server, "master")];
  const received = Promise.withResolvers<string>();
  receiver.nats.subscribe("test.last", { callback: (_, message) => received.resolve(message.string()) });
  await receiver.nats.flush();
  sender.publish("test.last", Buffer.from("words"));
  await sender.close();
  expect(await received.promise).toBe("words");
  await receiver.close();
});

test("while the bus is away 8 MiB are buffered, and the next message is refused", async () => {
  await using own = await startBus();
  const bus = await connectTo(own, "master");
  const away = Promise.withResolvers<void>();
  void (async () => {
    for await (const status of bus.nats.status()) if (status.type === "disconnect") away.resolve();
  })();
  await own.stop("SIGKILL");
  await away.promise;
  const half = new Uint8Array(busClientSettings.reconnectBufferBytes / 2);
  bus.publish("test.a", half);
  bus.publish("test.a", half);
  expect(() => bus.publish("test.a", new Uint8Array(1))).toThrow(unavailable);
  await own.start();
  await new Promise<void>((resolve) => bus.onReconnect(resolve));
  bus.publish("test.a", new Uint8Array(1));
  await bus.drain();
});

test("the bus CA is the explicit file, then BUS_CA_FILE, then bus-ca.crt, then the host's store", async () => {
  const [first, second, third] = ["a", "b", "bus-ca.crt"].map((name) => join(server.dir, name));
  for (const path of [first, second, third]) await Bun.write(path ?? "", `PEM of ${path}`);
  const from = (explicit: string, env: string, authDir: string) =>
    resolveBusCa({ explicit, env: env === "" ? {} : { BUS_CA_FILE: env }, authDir });
  expect(from(first ?? "", second ?? "", server.dir)).toBe(`PEM of ${first}`);
  expect(from("", second ?? "", server.dir)).toBe(`PEM of ${second}`);
  expect(from("", "", server.dir)).toBe(`PEM of ${third}`);
  expect(from("", "", "/nonexistent")).toBeUndefined();
  expect(() => from("/nonexistent/ca.crt", "", server.dir)).toThrow("/nonexistent/ca.crt: no such file");
});

test("after a restart of the bus a client that others wait for is back before most of them", async () => {
  const back: string[] = [];
  const clients = await Promise.all(
    ["awaited", ...Array.from({ length: 8 }, (_, at) => `client-${at}`)].map(async (name) => {
      const bus = await connectBus({ ...options, name, isAwaited: name === "awaited" });
      const returned = new Promise<void>((resolve) => {
        bus.onReconnect(() => {
          back.push(name);
          resolve();
        });
      });
      return { bus, returned };
    }),
  );
  await server.restart("SIGKILL");
  await Promise.all(clients.map(({ returned }) => returned));
  expect(back.slice(0, 5)).toContain("awaited");
  await Promise.all(clients.map(({ bus }) => bus.nats.close()));
}, 60_000);

test("a request without a server is distinguished at once from one that is not answered in time", async () => {
  const bus = await connectBus(options);
  const served = bus.serve("svc.test.silent", "q", () => new Promise(() => {}));
  const failureOf = (subject: string) =>
    bus.nats.request(subject, "", { timeout: 200 }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  expect(isUnserved(await failureOf("svc.test.nobody"))).toBe(true);
  expect(isUnserved(await failureOf("svc.test.silent"))).toBe(false);
  served.stop();
  await bus.nats.close();
});
