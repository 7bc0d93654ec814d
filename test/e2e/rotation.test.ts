import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:tls";
import { startBus, type TestBus } from "../harness/bus.ts";
import { decide, enrollNew, newEnrollee, openStream } from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// A master whose enrollment certificate is valid for seconds: it renews it repeatedly under load.

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  // All handshakes come from one address, which may otherwise have 8 at a time.
  const tests = { cidr: ["127.0.0.0/8"], capacity: 1_000, refill: "1s", connections: 1_000 };
  const config = { enroll: { networks: { tests } } };
  master = await startMaster(bus, { config, flags: ["--ca-enroll-cert-validity", "3s"] });
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** One new connection with a full, verified handshake. @returns the serial of the certificate it met */
function handshake(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: "127.0.0.1",
      servername: "localhost",
      port: Number(new URL(master.url).port),
      ca: master.ca,
    });
    socket.on("error", reject);
    socket.on("secureConnect", () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
  });
}

test("thousands of handshakes meet no refusal while certificates rotate, and a stream lives on", async () => {
  const id = await enrollNew(master, newEnrollee());
  using stream = await openStream(master, id);
  await stream.waitFor('"state":"pending"');
  const serials = new Set<string>();
  const failures: string[] = [];
  let done = 0;
  const worker = async () => {
    while (done < 3_000 || serials.size < 4) {
      await handshake().then(
        (serial) => serials.add(serial),
        (error) => failures.push(String(error.code ?? error.message)),
      );
      done++;
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(failures).toEqual([]);
  await decide(master, "approve", id);
  await stream.waitFor('"state":"approved"');
}, 60_000);
