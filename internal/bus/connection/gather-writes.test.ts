import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { gatherWrites } from "./gather-writes.ts";

let server: TestBus;
beforeAll(async () => {
  server = await startBus();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Stands for the client library: it writes what was published when it is asked to flush. */
function fakeClient() {
  const written: number[] = [];
  let size = 0;
  const protocol = {
    outbound: { size: () => size },
    flushPending() {
      if (size > 0) written.push(size);
      size = 0;
    },
    close: async () => {},
  };
  const publish = (bytes: number) => {
    size += bytes;
    protocol.flushPending();
  };
  const later: (() => void)[] = [];
  gatherWrites({ protocol } as never, (run) => void later.push(run));
  return { protocol, publish, written, turn: () => later.splice(0).forEach((run) => void run()) };
}

test("what is published in one turn of the event loop is one write", () => {
  const { publish, written, turn } = fakeClient();
  publish(1);
  publish(2);
  expect(written).toEqual([]);
  turn();
  expect(written).toEqual([3]);
  publish(4);
  turn();
  expect(written).toEqual([3, 4]);
});

test("from 32 KiB on it is written at once, and before the connection closes", async () => {
  const { protocol, publish, written, turn } = fakeClient();
  publish(32 * 1024);
  expect(written).toEqual([32 * 1024]);
  publish(5);
  await protocol.close();
  expect(written).toEqual([32 * 1024, 5]);
  turn();
  expect(written).toEqual([32 * 1024, 5]);
});

test("a client library of another form stays as it is", () => {
  const nats = { protocol: { flushPending() {} } };
  const { flushPending } = nats.protocol;
  gatherWrites(nats as never);
  gatherWrites({} as never);
  expect(nats.protocol.flushPending).toBe(flushPending);
});

test("this client library has the form, and answers of several turns are fewer writes than messages", async () => {
  const [one, other] = [await connectTo(server, "master"), await connectTo(server, "master")];
  one.nats.subscribe("svc.test.gather", { callback: (_, message) => void message.respond(message.data) });
  await one.nats.flush();
  const { transport } = (
    one.nats as unknown as { protocol: { transport: { send(frame: Uint8Array): void } } }
  ).protocol;
  const frames: number[] = [];
  const { send } = transport;
  transport.send = function (frame) {
    frames.push(frame.length);
    send.call(this, frame);
  };
  const requested = Array.from({ length: 50 }, (_, at) =>
    other.nats.request("svc.test.gather", new Uint8Array([at])),
  );
  const answers = await Promise.all(requested);
  expect(answers.map(({ data }) => data[0])).toEqual(Array.from({ length: 50 }, (_, at) => at));
  expect(frames.length).toBeLessThan(50);
  // What was published just before is sent.
  const seen = Promise.withResolvers<void>();
  other.nats.subscribe("svc.test.last", { callback: () => seen.resolve() });
  await other.nats.flush();
  one.nats.publish("svc.test.last");
  await one.nats.close();
  await seen.promise;
  await other.nats.close();
});
