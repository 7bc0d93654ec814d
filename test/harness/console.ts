import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../internal/base/files/file.ts";
import { openBrowser } from "./browser.ts";
import { startBus, type TestBus } from "./bus.ts";
import { freshAddress, type Reply, send } from "./client.ts";
import { type ConsoleView, viewOf } from "./console-view.ts";
import { binaries, type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary } from "./fleet.ts";
import { freePorts } from "./free-ports.ts";
import { startProgram } from "./process.ts";
import { until } from "./until.ts";
import { type Visitor, visitorOf } from "./visitor.ts";

/**
 * The compiled programs with a browser in front of them, for all tests of the console. Each test leaves the page of the
 * fleet signed in as `ci`, who may do everything.
 */
export interface ConsoleFleet extends AsyncDisposable, ConsoleView, Visitor {
  readonly bus: TestBus;
  readonly master: MasterDaemon;
  /** Ids with dots of two running peels. */
  readonly peels: readonly [string, string];
  /** Ends the master, and starts it again at the same address. */
  stopMaster(): Promise<void>;
  startMaster(): Promise<void>;
  /** Asks the master over REST, as `ci`. */
  rest(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Asks the master over REST with another token. */
  request(token: string, method: string, path: string, body?: unknown): Promise<Reply>;
}

/**
 * @param flags of the master
 * @param prepare what stands before the master: its answer stands below `api` in the configuration
 */
export async function startConsoleFleet(
  flags: readonly string[] = [],
  prepare: (bus: TestBus) => Promise<Record<string, unknown>> = async () => ({}),
): Promise<ConsoleFleet> {
  await using starting = new AsyncDisposableStack();
  const bus = starting.use(await startBus());
  const [port = 0] = await freePorts(1);
  const advertised = ["--enroll-advertise-urls", `https://localhost:${port}`];
  const all = [
    ...["--enroll-addr", `127.0.0.1:${port}`, ...advertised],
    ...[...writeTrees(bus.dir), ...flags],
  ];
  const master = await startMasterBinary(bus, all, {}, [], await prepare(bus));
  let running = master.program;
  starting.defer(() => running[Symbol.asyncDispose]());
  const ids = ["web-1.example.com", "web-2.example.com"] as const;
  const daemons: Daemon[] = ids.map((id) => starting.use(startPeelBinary(bus, master.url, id)));
  const request = (token: string, method: string, path: string, body?: unknown) =>
    send(master.url, bus.caPem, {
      method,
      path: `/api/v1/${path}`,
      // The browser keeps what its own address may ask.
      from: freshAddress(),
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const rest = (method: string, path: string, body?: unknown) => request(master.token, method, path, body);
  const waiting = await until(async () => {
    const found = (await rest("GET", "enrollments")).json as { id: string }[];
    return found.length === daemons.length ? found : undefined;
  });
  for (const { id } of waiting ?? []) await rest("POST", `enrollments/${id}/approve`);
  await until(async () => {
    const found = (await rest("GET", "peels")).json as { alive: boolean }[];
    return found.filter(({ alive }) => alive).length === daemons.length ? true : undefined;
  });
  const page = starting.use(await openBrowser({ url: master.url, ca: bus.caPem }));
  const visitor = visitorOf(page, master.url);
  const owned = starting.move();

  const fleet: ConsoleFleet = {
    ...visitor,
    ...viewOf(visitor),
    ...{ bus, master, peels: ids, rest, request },
    async stopMaster() {
      await running[Symbol.asyncDispose]();
    },
    async startMaster() {
      running = startProgram([binaries.master, "--config", join(master.dir, "master.yaml"), ...all], {
        cwd: master.dir,
        env: { SVC_DATA_DIR: master.dir },
      });
      await running.waitFor("master ready");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  await page.show({ width: 1280 });
  return fleet;
}

/** States of which one changes and one fails, with markup in what it says. @returns flags of the master */
function writeTrees(dir: string): string[] {
  const write = (name: string, files: Record<string, string>) => {
    const path = join(dir, name);
    makeDirectory(path, 0o700);
    for (const [file, text] of Object.entries(files)) writeFileAtomic(join(path, file), text, 0o600);
    return [`--${name}-dir`, path];
  };
  return [
    ...write("states", {
      "top.sls": "base:\n  '*': [web]\n",
      "web.sls":
        "greeting: test.succeed_with_changes\n\n" +
        "broken:\n  test.configurable_test_state:\n    - result: false\n    - changes: true\n    - comment: <b>not bold</b>\n",
    }),
    ...write("settings", {
      "top.sls": "base:\n  '*': [all]\n",
      "all.sls": "motd: welcome\npassword: hunter2\n",
    }),
  ];
}
