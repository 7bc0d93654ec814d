import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { runPeel } from "../../internal/agent/daemon/run.ts";
import { identityFiles } from "../../internal/agent/identity/identity.ts";
import { type Clock, systemClock, type Timer } from "../../internal/base/clock.ts";
import { makeDirectory, readTextFile, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { runMaster } from "../../internal/master/daemon/run.ts";
import { loadMasterConfig, loadPeelConfig } from "../../internal/program/config/mod.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { observedLog } from "../harness/peel-connection.ts";

// SIGTERM works at any moment of the start: what has begun is stopped, and nothing goes on.

setDefaultTimeout(60_000);

let bus: TestBus;
/** Accepts connections, and never says a word. */
let silent: Server;

beforeAll(async () => {
  bus = await startBus();
  silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  silent?.close();
  await bus?.[Symbol.asyncDispose]();
});

const silentUrl = () => `tls://127.0.0.1:${(silent.address() as AddressInfo).port}`;

/** Resolves when somebody connects to the silent server, and ends that connection when it is disposed. */
async function caught(): Promise<Disposable> {
  const socket = await new Promise<{ destroy(): void }>((resolve) => silent.once("connection", resolve));
  return { [Symbol.dispose]: () => socket.destroy() };
}

/** The machine's clock, which counts how often it is asked, and knows what still comes back every so often. */
function countingClock(onCall: (count: number) => void) {
  const repeating = new Set<Timer>();
  let count = 0;
  const counted = <Value>(value: Value): Value => {
    onCall(++count);
    return value;
  };
  const clock: Clock = {
    now: () => counted(systemClock.now()),
    monotonic: () => counted(systemClock.monotonic()),
    after: (ms, run) => counted(systemClock.after(ms, run)),
    every(ms, run) {
      const inner = systemClock.every(ms, run);
      const timer = {
        cancel() {
          repeating.delete(timer);
          inner.cancel();
        },
      };
      repeating.add(timer);
      return counted(timer);
    },
  };
  return {
    clock,
    get count() {
      return count;
    },
    get repeating() {
      return repeating.size;
    },
  };
}

const reason = new Error("stopped by SIGTERM");

function startMaster(options: { url?: string; clock?: Clock; stopping?: AbortController } = {}) {
  const { stopping = new AbortController() } = options;
  const invocation = loadMasterConfig(
    [
      ...["--bus-url", options.url ?? bus.url, "--bus-ca", bus.caFile, "--auth-dir", bus.authDir],
      ...["--enroll-addr", "127.0.0.1:0", "--health-addr", "127.0.0.1:0"],
      ...["--decisions-log", join(mkdtempSync(join(bus.dir, "data-")), "decisions.log")],
    ],
    {},
    () => undefined,
  );
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  const ready = Promise.withResolvers<void>();
  const ended = runMaster({
    config: invocation.values,
    env: {},
    hostname: "localhost",
    clock: options.clock ?? systemClock,
    random: systemRandom,
    jitter: () => 0,
    log: observedLog(),
    signal: stopping.signal,
    onReady: () => ready.resolve(),
  }).then(
    () => "ended",
    (thrown: unknown) => String(thrown),
  );
  return { stop: () => stopping.abort(reason), ready: ready.promise, ended };
}

test("a master ends at once while a server takes its connection and does not answer", async () => {
  const connected = caught();
  const master = startMaster({ url: silentUrl() });
  using _ = await connected;
  master.stop();
  expect(await master.ended).toBe("Error: stopped by SIGTERM");
});

test("a peel ends at once while a server takes its connection and does not answer", async () => {
  const dataDir = join(bus.dir, "silent-peel");
  const { credentials } = identityFiles(join(dataDir, "auth"), "peel-1");
  makeDirectory(join(dataDir, "auth"), 0o700);
  writeFileAtomic(credentials, readTextFile(join(bus.authDir, "master.creds"), "credentials"), secretMode);
  const invocation = loadPeelConfig(
    ["--id", "peel-1", "--bus-ca", bus.caFile, "--bus-url", silentUrl(), "--health-addr", "127.0.0.1:0"],
    { SVC_DATA_DIR: dataDir },
    () => undefined,
  );
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  const connected = caught();
  const stopping = new AbortController();
  const counting = countingClock(() => {});
  const ended = runPeel({
    config: invocation.values,
    dataDir,
    env: {},
    hostname: "localhost",
    clock: counting.clock,
    random: systemRandom,
    jitter: () => 0,
    log: observedLog(),
    signal: stopping.signal,
  });
  using _ = await connected;
  stopping.abort(reason);
  await expect(ended).rejects.toThrow("stopped by SIGTERM");
  expect(counting.repeating).toBe(0);
});

test("a master ends at any moment of its start, and leaves nothing running", async () => {
  const whole = countingClock(() => {});
  const first = startMaster({ clock: whole.clock });
  await first.ready;
  const calls = whole.count;
  first.stop();
  expect(await first.ended).toBe("ended");
  expect(whole.repeating).toBe(0);

  const moments = 40;
  const outcomes = new Map<string, number>();
  for (let moment = 0; moment < moments; moment++) {
    const last = 1 + Math.floor((moment * calls) / moments);
    const stopping = new AbortController();
    const counting = countingClock((count) => {
      if (count === last) stopping.abort(reason);
    });
    const outcome = await startMaster({ clock: counting.clock, stopping }).ended;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    expect([last, counting.repeating]).toEqual([last, 0]);
  }
  // Some of these moments may come after the last part has started.
  expect(outcomes.get("Error: stopped by SIGTERM") ?? 0).toBeGreaterThan(moments / 2);
  expect([...outcomes.keys()].filter((outcome) => outcome !== "ended")).toEqual([
    "Error: stopped by SIGTERM",
  ]);
});
