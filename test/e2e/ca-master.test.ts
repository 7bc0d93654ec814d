import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { reissueRoot } from "../../internal/identity/ca/reissue.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel } from "../harness/peel-connection.ts";

// A master whose enrollment certificate is valid for seconds: it renews it all the time.

const day = 86_400_000;
let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, {
    flags: ["--ca-enroll-cert-validity", "2s", "--bus-advertise-urls", "tls://bus.example.com:4222"],
  });
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const port = () => Number(new URL(master.url).port);

/** Opens a new verified TLS connection. */
const handshake = () =>
  new Promise<void>((resolve, reject) => {
    const options = { host: "127.0.0.1", port: port(), servername: "localhost", ca: master.ca };
    const socket = connect({ ...options, minVersion: "TLSv1.3" }, () => {
      socket.destroy();
      resolve();
    });
    socket.on("error", reject);
  });

/** A document without the time at which it was issued. */
const content = (document: unknown) => ({ ...(document as Record<string, unknown>), issued_at: undefined });

test("the document is the same over HTTPS, in the bucket, and in the answer to a peel's hello", async () => {
  const reply = await send(master.url, master.ca, { path: "/api/v1/enroll/ca", from: freshAddress() });
  const document = reply.json;
  expect(document).toMatchObject({
    v: 1,
    ca_bundle_pem: bus.caPem,
    nats_urls: ["tls://bus.example.com:4222"],
  });
  const masterBus = await connectTo(bus, "master");
  const secrets = await openBucket(masterBus, "secrets");
  const stored = await new Promise<Uint8Array>((resolve) => {
    const watch = secrets.watch(({ key, value }) => {
      if (key !== "_cluster_info" || value === undefined) return;
      resolve(value);
      watch.stop();
    });
  });
  expect(content(decode(stored))).toEqual(content(document));
  const enrolled = await enrollPeel(master, "hello-1");
  await using peel = await connectPeel(bus, enrolled);
  const answer = await peel.nats.request("svc.peel.hello-1.hello", encode({}), { timeout: 30_000 });
  const { cluster_info: reported } = decode(answer.data) as { cluster_info: unknown };
  expect(content(reported)).toEqual(content(document));
  await masterBus.nats.close();
});

test("a root that is renewed under its key is served and published without a restart", async () => {
  const before = await send(master.url, master.ca, { path: "/api/v1/enroll/ca", from: freshAddress() });
  const ca = join(bus.authDir, "ca");
  const issuedBefore = master.records.length;
  await reissueRoot({ dir: ca, validityMs: 3651 * day, clock: systemClock, random: systemRandom });
  const published = () =>
    master.records.slice(issuedBefore).some(({ event }) => event === "bootstrap document published");
  // The next renewal picks it up, with new connections all the while.
  while (!published()) await handshake();
  const after = await send(master.url, master.ca, { path: "/api/v1/enroll/ca", from: freshAddress() });
  const [old, renewed] = [before.json, after.json] as { ca_bundle_pem: string; fingerprint: string }[];
  expect(renewed?.ca_bundle_pem).toBe(readFileSync(join(ca, "root.crt"), "utf8"));
  expect(renewed?.ca_bundle_pem).not.toBe(old?.ca_bundle_pem ?? "");
  expect(renewed?.fingerprint).toBe(old?.fingerprint ?? "");
  expect(after.headers.etag).not.toBe(before.headers.etag);
});

test("readiness and metrics know the certificates", async () => {
  const ready = (await (await fetch(`${master.healthUrl}/readyz`)).json()) as {
    checks: Record<string, { status: string }>;
  };
  expect(ready.checks.ca?.status).toBe("up");
  const metrics = await (await fetch(`${master.healthUrl}/metrics`)).text();
  for (const name of ["enroll", "intermediate", "root"]) {
    const found = new RegExp(
      `svc_certificate_not_after_timestamp_seconds{certificate="${name}"} (\\S+)`,
    ).exec(metrics);
    expect(Number(found?.[1]) * 1000).toBeGreaterThan(systemClock.now() - 2_000);
  }
  expect(metrics).toMatch(/svc_certificate_renewals_total{result="ok"} [1-9]/);
  expect(metrics).toContain('svc_certificate_renewals_total{result="failed"} 0');
});
