import { expect } from "bun:test";
import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress } from "../harness/client.ts";
import { binaries, type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { type Program, startProgram } from "../harness/process.ts";
import { type Relay, startRelay } from "../harness/relay.ts";

// Two masters of compiled binaries, each with an auth directory of its own, as on two hosts.

type Answer = Awaited<ReturnType<typeof svc>>;

export interface TwoMasters extends AsyncDisposable {
  readonly bus: TestBus;
  /** The auth directories. */
  readonly auth: readonly [string, string];
  readonly urls: readonly string[];
  startMaster(at: 0 | 1): Promise<MasterDaemon>;
  stopMaster(at: 0 | 1): Promise<void>;
  /** Starts a peel, after the one of this ID has ended. @param options.reachesMasters over HTTPS; yes by default */
  startPeel(id: string, options?: { reachesMasters?: boolean }): Promise<Program>;
  /** Starts a peel, approves it, and waits until it is connected. */
  admit(id: string): Promise<Program>;
  stopPeel(id: string): Promise<void>;
  peel(id: string): Program;
  dataDir(id: string): string;
  svc(...args: string[]): Promise<Answer>;
  /** Runs `test.ping` on all peels: each of them must answer. */
  ping(...ids: string[]): Promise<void>;
}

export async function standUpTwoMasters(): Promise<TwoMasters> {
  const bus = await startBus();
  const second = { ...bus, authDir: join(bus.dir, "auth-2") };
  const sides = [bus, second] as const;
  // The key of the root is on one host only.
  cpSync(bus.authDir, second.authDir, { recursive: true, filter: (path) => !path.endsWith("root.key") });
  // Peels verify masters with the root of the first day; masters keep the file that they are configured with.
  const enrollCa = join(bus.dir, "enroll-ca.crt");
  copyFileSync(bus.caFile, enrollCa);
  const ports = await freePorts(2);
  const masters: (MasterDaemon | undefined)[] = [];
  const peels = new Map<string, Program>();
  const relays: Relay[] = [];
  const addresses = new Map<string, string>();
  const dataDir = (id: string) => join(bus.dir, `data-${id}`);
  /** Each peel has an address of its own, as a host has. */
  const urlsFor = async (id: string): Promise<string> => {
    const known = addresses.get(id);
    if (known !== undefined) return known;
    const from = freshAddress();
    const own = await Promise.all(ports.map((port) => startRelay(port, from)));
    relays.push(...own);
    const urls = own.map(({ port }) => `https://localhost:${port}`).join(",");
    addresses.set(id, urls);
    return urls;
  };
  const stopPeel = async (id: string) => {
    await peels.get(id)?.[Symbol.asyncDispose]();
    peels.delete(id);
  };
  const fleet: TwoMasters = {
    bus,
    auth: [bus.authDir, second.authDir],
    urls: ports.map((port) => `https://localhost:${port}`),
    async startMaster(at) {
      const master = await startMasterBinary(sides[at], ["--enroll-addr", `127.0.0.1:${ports[at]}`]);
      masters[at] = master;
      return master;
    },
    async stopMaster(at) {
      await masters[at]?.[Symbol.asyncDispose]();
      masters[at] = undefined;
    },
    async startPeel(id, { reachesMasters = true } = {}) {
      await stopPeel(id);
      const config = join(dataDir(id), "peel.yaml");
      const auth = join(dataDir(id), "auth");
      if (!addresses.has(id)) {
        for (const dir of [dataDir(id), auth]) makeDirectory(dir, 0o700);
        copyFileSync(bus.caFile, join(auth, "bus-ca.crt"));
      }
      writeFileAtomic(config, "{}\n", secretMode);
      const urls = await urlsFor(id);
      const command = [
        ...[binaries.peel, "--config", config, "--id", id, "--bus-url", bus.url, "--enroll-ca", enrollCa],
        ...["--health-addr", "127.0.0.1:0", ...(reachesMasters ? ["--master-urls", urls] : [])],
      ];
      const peel = startProgram(command, { cwd: dataDir(id), env: { SVC_DATA_DIR: dataDir(id) } });
      peels.set(id, peel);
      return peel;
    },
    async admit(id) {
      const peel = await fleet.startPeel(id);
      await peel.waitFor("waiting for an operator's approval");
      const listed = JSON.parse((await fleet.svc("enroll", "list", "--output", "json")).stdout);
      const found = listed.find((one: { peel_id: string }) => one.peel_id === id);
      expect(await fleet.svc("enroll", "approve", found.id)).toMatchObject({ code: 0 });
      await peel.waitFor("peel connected");
      return peel;
    },
    stopPeel,
    peel(id) {
      const found = peels.get(id);
      if (found === undefined) throw new Error(`${id} does not run`);
      return found;
    },
    dataDir,
    svc: (...args) => svc(bus, ...args),
    async ping(...ids) {
      const ran = await fleet.svc("run", "*", "test.ping", "--timeout", "20s", "--output", "json");
      const outcomes = Object.fromEntries(ids.map((id) => [id, "ok"]));
      expect(JSON.parse(ran.stdout || "{}")).toMatchObject({ outcomes });
    },
    async [Symbol.asyncDispose]() {
      for (const id of [...peels.keys()]) await stopPeel(id);
      for (const master of masters) await master?.[Symbol.asyncDispose]();
      for (const relay of relays) await relay.close();
      await bus[Symbol.asyncDispose]();
    },
  };
  try {
    await fleet.startMaster(0);
    await fleet.startMaster(1);
    return fleet;
  } catch (thrown) {
    await fleet[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** Asks until the answer is as wanted: what is waited for crosses files, masters, peels and the bus. */
export async function until<T>(
  request: () => Promise<T>,
  isWanted: (answer: T) => boolean,
  withinMs = 60_000,
): Promise<T> {
  const end = systemClock.monotonic() + withinMs;
  for (;;) {
    const answer = await request();
    if (isWanted(answer)) return answer;
    if (systemClock.monotonic() > end) throw new Error(`not in time: ${JSON.stringify(answer)}`);
    await sleep(systemClock, 300);
  }
}
