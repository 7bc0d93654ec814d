import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Connection } from "../../internal/agent/link/connection.ts";
import { fetchBinary } from "../../internal/agent/upgrade/fetch-binary.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { sha256Hex } from "../../internal/base/sha256.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { fetchSubject } from "../../internal/bus/subjects/subjects.ts";
import type { BinaryFile } from "../../internal/cli/upgrade/read-binary.ts";
import { uploadBinary } from "../../internal/cli/upgrade/upload.ts";
import { binaryDoors } from "../../internal/fleet/binaries/doors.ts";
import { chunkBytes, encodeBinaryManifest } from "../../internal/host/binary/manifest.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { manualClock } from "../harness/clock.ts";
import { connectionOver } from "../harness/connection.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  type PeelConnection,
} from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// A binary on its way from an operator through the masters to a peel, over the real doors.

setDefaultTimeout(60_000);

let bus: TestBus;
let masters: TestMaster[];
let operator: Bus;
let peel: EnrolledPeel;
let peelBus: PeelConnection;
let dir: ReturnType<typeof temporaryDirectory>;
const log = recordingLog();
const timeout = 5_000;
let made = 0;

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus), await startMaster(bus)];
  operator = await connectBus({
    urls: [bus.url],
    name: "test-operator",
    identity: { credentials: readFileSync(join(bus.authDir, "admin.creds"), "utf8") },
    ca: bus.caPem,
    clock: systemClock,
    log,
  });
  const [master] = masters;
  if (master === undefined) throw new Error("no master");
  peel = await enrollPeel(master, "web-1");
  peelBus = await connectPeel(bus, peel);
}, 60_000);
afterAll(async () => {
  await operator?.nats.close();
  await peelBus?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  dir?.[Symbol.dispose]();
  dir = temporaryDirectory("binaries");
});
afterAll(() => dir?.[Symbol.dispose]());

/** A binary of its own, in so many chunks; the last is a short one. */
function binaryOf(chunks: number) {
  const name = `binary ${++made}`;
  const parts = Array.from({ length: chunks }, (_, index) =>
    Buffer.alloc(index === chunks - 1 ? 77 : chunkBytes, `${name}/${index} `),
  );
  const bytes = Buffer.concat(parts);
  const manifest = {
    sha256: sha256Hex(bytes),
    size: bytes.length,
    platform: "linux-x64" as const,
    version: "1.2.3",
    chunks: parts.map(sha256Hex),
  };
  const read: number[] = [];
  const file: BinaryFile = {
    manifest,
    ...encodeBinaryManifest(manifest),
    async chunk(index) {
      read.push(index);
      return parts[index] ?? Buffer.of();
    },
    [Symbol.asyncDispose]: async () => {},
  };
  return { bytes, file, read, manifest };
}

/** Counts the requests, and can answer instead of the masters. */
function watched(instead: (nth: number) => Uint8Array | undefined = () => undefined) {
  const through = connectionOver(peelBus.bus);
  const requested: string[] = [];
  const connection: Pick<Connection, "connected" | "request"> = {
    get connected() {
      return through.connected;
    },
    async request(subject, data, timeoutMs) {
      const [digest] = (decode(data) as { binary: string[] }).binary;
      requested.push(digest ?? "");
      return instead(requested.length) ?? through.request(subject, data, timeoutMs);
    },
  };
  return { connection, requested };
}

const fetchWith = (
  connection: Pick<Connection, "connected" | "request">,
  digest: string,
  path: string,
  over: Partial<Parameters<typeof fetchBinary>[0]> = {},
) =>
  fetchBinary(
    {
      connection,
      peelId: "web-1",
      clock: systemClock,
      jitter: () => 0,
      log,
      signal: new AbortController().signal,
      ...over,
    },
    digest,
    path,
  );

const ignore = () => {};
const send = async (subject: string, request: unknown) =>
  decode((await operator.nats.request(subject, encode(request), { timeout })).data);

/** Resolves when a master serves again. Requests before that get no response, and are retried. */
async function mastersBack(): Promise<void> {
  await until(
    () => send(binaryDoors.putChunk.bus.subject, {}).catch(() => undefined),
    (answer) => answer !== undefined,
  );
}

describe("a binary that was uploaded", () => {
  test("is what a peel fetches, for its owner alone", async () => {
    const { bytes, file, manifest } = binaryOf(9);
    const progress: number[] = [];
    await uploadBinary(operator, file, (stored, all) => progress.push(stored / all));
    expect([progress[0], progress.at(-1)]).toEqual([0, 1]);
    const path = join(dir.path, "svc-peel.part");
    const { connection, requested } = watched();
    expect(await fetchWith(connection, file.digest, path)).toEqual(manifest);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(requested).toHaveLength(10);
  });

  test("is not sent again, and an upload that was interrupted goes on", async () => {
    const { file, read } = binaryOf(8);
    const cut: BinaryFile = {
      ...file,
      chunk: (index) => (index >= 4 ? Promise.reject(new Error("interrupted")) : file.chunk(index)),
    };
    await expect(uploadBinary(operator, cut, ignore)).rejects.toThrow();
    const { missing } = (await send(binaryDoors.commitBinary.bus.subject, {
      manifest: file.data,
      operator: "alice",
    })) as {
      missing: string[];
    };
    expect(missing.length).toBeGreaterThanOrEqual(4);
    read.length = 0;
    await uploadBinary(operator, file, ignore);
    expect(read).toHaveLength(missing.length);
    read.length = 0;
    await uploadBinary(operator, file, ignore);
    expect(read).toEqual([]);
  });

  test("may be uploaded by two at once", async () => {
    const { bytes, file } = binaryOf(6);
    await Promise.all([uploadBinary(operator, file, ignore), uploadBinary(operator, file, ignore)]);
    const path = join(dir.path, "svc-peel");
    await fetchWith(watched().connection, file.digest, path);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  test("is whole after the bus ended in the middle of it", async () => {
    const { bytes, file } = binaryOf(8);
    await operator.nats.request(
      binaryDoors.putChunk.bus.subject,
      encode({ digest: file.manifest.chunks[0], data: await file.chunk(0) }),
      {
        timeout,
      },
    );
    const back = [operator, peelBus.bus].map(
      (one) => new Promise<void>((resolve) => one.onReconnect(resolve)),
    );
    await bus.restart("SIGKILL");
    await Promise.all(back);
    await mastersBack();
    await expect(fetchWith(watched().connection, file.digest, join(dir.path, "a"))).rejects.toThrow(
      "the part of a binary with the digest",
    );
    await uploadBinary(operator, file, ignore);
    const path = join(dir.path, "svc-peel");
    await fetchWith(watched().connection, file.digest, path);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });
});

describe("a peel that fetches", () => {
  test("goes on where it was, and takes nothing on trust", async () => {
    const { bytes, file } = binaryOf(8);
    await uploadBinary(operator, file, ignore);
    const path = join(dir.path, "svc-peel");
    // Five chunks exist, one of them damaged, with extra bytes after the end.
    const before = Buffer.concat([bytes.subarray(0, 5 * chunkBytes), Buffer.alloc(4 * chunkBytes, "old")]);
    before.fill(0, 2 * chunkBytes, 2 * chunkBytes + 5);
    writeFileSync(path, before);
    const { connection, requested } = watched();
    await fetchWith(connection, file.digest, path);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(requested).toHaveLength(1 + 1 + 3);
  });

  test("takes what its own executable has, if it is the same", async () => {
    const { bytes, file } = binaryOf(8);
    await uploadBinary(operator, file, ignore);
    const [path, seed] = [join(dir.path, "svc-peel"), join(dir.path, "running")];
    const running = Buffer.concat([bytes.subarray(0, 5 * chunkBytes), Buffer.alloc(77, "another end")]);
    running.fill(0, 2 * chunkBytes, 2 * chunkBytes + 5);
    writeFileSync(seed, running);
    const { connection, requested } = watched();
    await fetchWith(connection, file.digest, path, { seed });
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(requested).toHaveLength(1 + 1 + 3);
    await fetchWith(connection, file.digest, join(dir.path, "other"), { seed: join(dir.path, "none") });
    expect(requested).toHaveLength(1 + 1 + 3 + 9);
  });

  test.each([
    ["do not match its digest", encode({ blobs: [Buffer.from("something else")] })],
    ["nothing that can be read", encode({ blobs: [] })],
    ["that it is busy", encode({ ok: false, error: { code: "unavailable", message: "too many requests" } })],
  ])("asks again after a pause when a master answers %s", async (_, answer) => {
    const { bytes, file } = binaryOf(3);
    await uploadBinary(operator, file, ignore);
    const path = join(dir.path, "svc-peel");
    const { connection, requested } = watched((nth) => (nth === 1 || nth === 3 ? answer : undefined));
    const clock = manualClock();
    const waits: number[] = [];
    const fetching = fetchWith(connection, file.digest, path, {
      clock: {
        ...clock,
        after(ms, run) {
          waits.push(ms);
          return systemClock.after(0, run);
        },
      },
    });
    await fetching;
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect([requested.length, waits]).toEqual([6, [500, 500]]);
  });

  test("ends with its signal, with the reason why it has nothing", async () => {
    const busy = encode({ ok: false, error: { code: "unavailable", message: "too many requests" } });
    const { connection } = watched(() => busy);
    const deadline = new AbortController();
    const clock = {
      ...manualClock(),
      after() {
        queueMicrotask(() => deadline.abort(new Error("late")));
        return { cancel() {} };
      },
    };
    await expect(
      fetchWith(connection, "0".repeat(64), join(dir.path, "x"), { clock, signal: deadline.signal }),
    ).rejects.toThrow("the binary was not fetched in time: too many requests");
  });

  test("is told when there is no such binary", async () => {
    await expect(fetchWith(watched().connection, "0".repeat(64), join(dir.path, "x"))).rejects.toMatchObject({
      kind: "not_found",
    });
  });

  test("follows no link, and says which file cannot be written", async () => {
    const { file } = binaryOf(1);
    await uploadBinary(operator, file, ignore);
    const [path, elsewhere] = [join(dir.path, "link"), join(dir.path, "elsewhere")];
    symlinkSync(elsewhere, path);
    await expect(fetchWith(watched().connection, file.digest, path)).rejects.toThrow(`cannot write ${path}`);
    await expect(
      fetchWith(watched().connection, file.digest, join(dir.path, "none/x")),
    ).rejects.toMatchObject({ kind: "storage" });
  });
});

describe("the doors refuse", () => {
  test.each<[string, string, unknown, string]>([
    [
      "a chunk of another digest",
      binaryDoors.putChunk.bus.subject,
      { digest: "0".repeat(64), data: Buffer.from("x") },
      "do not match its digest",
    ],
    [
      "a chunk without a digest",
      binaryDoors.putChunk.bus.subject,
      { data: Buffer.from("x") },
      "digest is required",
    ],
    [
      "a chunk that is too large",
      binaryDoors.putChunk.bus.subject,
      { digest: sha256Hex(Buffer.alloc(chunkBytes + 1)), data: Buffer.alloc(chunkBytes + 1) },
      "a chunk must have at most 524288 bytes",
    ],
    ["no manifest", binaryDoors.commitBinary.bus.subject, { operator: "alice" }, "manifest is required"],
    [
      "nobody's manifest",
      binaryDoors.commitBinary.bus.subject,
      { manifest: Buffer.of(1) },
      "operator is required",
    ],
    [
      "a manifest of more than a binary may have",
      binaryDoors.commitBinary.bus.subject,
      {
        manifest: encodeBinaryManifest({ ...binaryOf(1).manifest, size: 512 * 1024 * 1024 + 1 }).data,
        operator: "alice",
      },
      "its size is not from 1 to",
    ],
  ])("%s", async (_, subject, request, message) => {
    expect(await send(subject, request)).toMatchObject({
      ok: false,
      error: { code: "bad_request", message: expect.stringContaining(message) },
    });
  });

  test("a peel more than it may ask at a time, and go on", async () => {
    const { file } = binaryOf(4);
    await uploadBinary(operator, file, ignore);
    const request = encode({ binary: [file.manifest.chunks[0]] });
    const answers = await Promise.all(
      Array.from({ length: 40 }, async () =>
        decode((await peelBus.nats.request(fetchSubject("web-1"), request, { timeout })).data),
      ),
    );
    const refused = answers.filter((answer) => (answer as { ok?: boolean }).ok === false);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(40);
    const path = join(dir.path, "svc-peel");
    await fetchWith(watched().connection, file.digest, path);
  });
});
