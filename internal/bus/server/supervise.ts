import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep, untilAborted } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { DiskRoom } from "../../base/files/disk-room.ts";
import { readTextFile } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { storeDirOf } from "./cluster-block.ts";
import { launchServer, type RunningServer } from "./launch.ts";
import { endOrphan, forgetServer, recordServer } from "./orphan.ts";
import { assertFree, listenAddressOf } from "./port.ts";
import { findServer } from "./program.ts";
import { acknowledgesEarly } from "./sync.ts";
import { watchDisk } from "./watch-disk.ts";

const pauses = { firstMs: 500, maxMs: 30_000 };
/** A server that ran this long had started well: the pauses start from the beginning. */
const steadyMs = 60_000;
/** A server whose log goes elsewhere never reports that it is ready. Connecting to it then shows whether it is. */
const readyLimitMs = 60_000;

export interface BusServerOptions {
  /** The value of `embedded_bus_dir`: holds `nats-server.conf` and this master's files about the bus. Absolute. */
  dir: string;
  /** The value of `embedded_bus_path`; empty means none. */
  program: string;
  /** The server embedded in this executable. */
  carried: Blob | undefined;
  /** Search path of nats-server: directories, separated by colons. */
  searchPath: string;
  /** Called at each restart. */
  onRestart(): void;
  /** The room on the disk of a directory; by default what the system says. */
  roomOn?: (directory: string) => Promise<DiskRoom>;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** How often a bus was started again since its master started. */
export interface BusRestarts {
  count: number;
  /** When last, milliseconds since the Unix epoch. */
  at: number;
}

/** The bus as a child of this process. */
export interface BusServer {
  /** Makes it read its certificates again. Connections stay. */
  reload(): void;
  /** What is wrong with the disk that it stores on, and what to do. */
  diskProblem(): { message: string; next: string } | undefined;
  /** `undefined` while it has not ended once. */
  restarts(): BusRestarts | undefined;
  /** Resolves when it has exited. */
  stop(): Promise<void>;
}

/**
 * Runs a nats-server and restarts it whenever it exits, with a backoff from 0.5 to 30 seconds. A server
 * that exits before it was ready for the first time is not restarted: its configuration is wrong, and an
 * operator is present to read the error.
 *
 * @returns when it accepts connections
 * @throws SvcError with the reason why it cannot start; the reason of the signal
 */
export async function startBusServer(options: BusServerOptions): Promise<BusServer> {
  const { dir, clock, signal } = options;
  const log = options.log.with({ component: "bus" });
  const config = join(dir, "nats-server.conf");
  const note = join(dir, "nats-server.process");
  const text = readConfiguration(config);
  await endOrphan(note, clock, log);
  const address = listenAddressOf(text);
  if (address !== undefined) await assertFree(address);

  const stopping = new AbortController();
  const start = () => startOnce({ ...options, log }, { config, note, text });
  let server = await start();
  let startedAt = clock.monotonic();
  try {
    await untilReady(server, clock, signal);
  } catch (thrown) {
    await server.stop();
    forgetServer(note);
    throw thrown;
  }

  let restarts: BusRestarts | undefined;
  const stopped = untilAborted(stopping.signal);
  const backoff = createBackoff(pauses);
  const supervise = async (): Promise<void> => {
    for (;;) {
      const ended = await Promise.race([server.exited, stopped]);
      if (ended === undefined) return server.stop();
      if (clock.monotonic() - startedAt > steadyMs) backoff.reset();
      const pauseMs = backoff.next();
      log.error("bus ended", { ...ended, restart_in_ms: pauseMs });
      const next = await again(pauseMs);
      if (next === undefined) return;
      server = next;
    }
  };
  /** Starts it after a pause and retries until it starts; `undefined` when stopping. */
  const again = async (firstMs: number): Promise<RunningServer | undefined> => {
    for (let pauseMs = firstMs; ; pauseMs = backoff.next()) {
      try {
        await sleep(clock, pauseMs, stopping.signal);
      } catch {
        return undefined;
      }
      restarts = { count: (restarts?.count ?? 0) + 1, at: clock.now() };
      options.onRestart();
      startedAt = clock.monotonic();
      try {
        const started = await start();
        if (!stopping.signal.aborted) return started;
        await started.stop();
      } catch (thrown) {
        log.error("bus not started", { error: describeError(thrown) });
      }
    }
  };
  const supervising = supervise();
  const disk = watchDisk({
    directory: resolve(dir, storeDirOf(text) ?? "."),
    onRoom() {
      if (!server.ranOutOfRoom()) return;
      log.warn("the bus is restarted: its disk was full", { pid: server.pid });
      void server.stop();
    },
    ...{ clock, log, read: options.roomOn },
  });
  return {
    reload: () => server.reload(),
    diskProblem: disk.problem,
    restarts: () => restarts,
    async stop() {
      disk.stop();
      stopping.abort(new Error("the bus is stopped"));
      await supervising;
      forgetServer(note);
    },
  };
}

/** Finds the program of the bus, and starts it. */
async function startOnce(
  { dir, program: explicit, carried, searchPath, clock, log }: BusServerOptions,
  { config, note, text }: { config: string; note: string; text: string },
): Promise<RunningServer> {
  const found = await findServer({ explicit, carried, directory: join(dir, "bin"), searchPath, clock });
  if (acknowledgesEarly(text, found.version)) {
    log.warn("the bus acknowledges before it has written to the disk", {
      next: `add sync_interval: always to the jetstream block of ${config}`,
    });
  }
  const program = realpathSync(found.path);
  const server = launchServer({ program, config, clock, log });
  recordServer(note, server.pid, program);
  log.info("bus started", { ...found, pid: server.pid });
  return server;
}

function readConfiguration(path: string): string {
  try {
    return readTextFile(path, "the configuration of the embedded bus");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "";
    throw new SvcError("bad_request", `${reason}: create it with svc init, or set embedded_bus_dir`);
  }
}

async function untilReady(server: RunningServer, clock: Clock, signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const failed = server.exited.then(() => {
    const reason = server.lastWords() ?? "it gave no reason";
    throw new SvcError("unavailable", `embedded_bus: the bus does not start: ${reason}`);
  });
  const timeout = sleep(clock, readyLimitMs, AbortSignal.any([waiting.signal, signal]));
  try {
    await Promise.race([server.ready, failed, timeout]);
  } finally {
    failed.catch(() => {});
    timeout.catch(() => {});
    waiting.abort();
  }
}
