import { type Backoff, createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isErrno } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import type { ServiceManager } from "../../base/service/service-manager.ts";
import { watchdogVariable } from "../upgrade/mod.ts";
import { type Child, startChild } from "./child.ts";
import { createHealth, requestHealth } from "./health.ts";
import { endLeftovers } from "./leftovers.ts";
import type { Limits } from "./limits.ts";
import { isTakenFrom } from "./listener.ts";
import { findMarked, orphansOf } from "./orphans.ts";
import { createTrial, type Trial } from "./trial.ts";
import { openUpgradeRecord, type UpgradeRecord } from "./upgrade-record.ts";

export interface WatchdogOptions {
  /** The packaged executable. Absolute. */
  program: string;
  /** Flags of the peel. */
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  dataDir: string;
  /** `health_addr` of the peel. */
  health: { host: string; port: number };
  limits: Limits;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
  /** Called when the first peel has started: nothing listens to the peel itself. */
  service?: ServiceManager;
}

/** Why the watchdog stopped watching a peel. */
type End = "stopping" | "ended" | "frozen" | "requested" | "failed";

const orphanPollMs = 50;
/** Timeout for killed orphans to exit. */
const orphanTimeoutMs = 5_000;

/** A watchdog at work. */
interface Watchdog extends WatchdogOptions {
  upgrades: UpgradeRecord;
  backoff: Backoff;
  /** How often it started a peel again. */
  restarts: number;
  /** Whether the service manager knows that the first peel has started. */
  announced: boolean;
}

/**
 * Keeps a peel running until the signal aborts. Restarts it when it exits or freezes, and switches it to
 * another executable and back. Every step of a switch is written to disk first, so that the next watchdog
 * can roll back an interrupted one.
 *
 * @throws SvcError `conflict` when another watchdog runs a peel in this directory; `storage` when the state
 *   of upgrades cannot be written at the start
 */
export async function runWatchdog(options: WatchdogOptions): Promise<void> {
  const { dataDir, clock, log, signal } = options;
  const { firstPauseMs: firstMs, maxPauseMs: maxMs } = options.limits;
  const upgrades = openUpgradeRecord(options);
  const watchdog: Watchdog = {
    ...options,
    upgrades,
    backoff: createBackoff({ firstMs, maxMs, jitter: options.jitter }),
    restarts: 0,
    announced: options.service?.listens !== true,
  };

  await endOrphans(dataDir, clock, log);
  const undecided = upgrades.state.trial;
  if (undecided !== undefined) {
    const { jid, version } = undecided;
    log.warn("an upgrade was not decided; going back", { jid, version });
  }
  upgrades.note({ kind: "started" });
  await upgrades.checkCurrent();
  upgrades.dropKnownRequest();

  while (!signal.aborted) {
    const staged = upgrades.state.trial;
    const trial = staged === undefined ? undefined : createTrial(staged, options);
    const end = await runOne(watchdog, trial);
    if (end === "stopping") return;
    if (end === "failed") upgrades.note({ kind: "failed", reason: trial?.failure ?? "" });
    else if (end !== "requested") await pause(watchdog);
  }
}

/** Starts the current peel and watches it. A trial includes the restarts that it allows. */
async function runOne(watchdog: Watchdog, trial: Trial | undefined): Promise<End> {
  const { limits, log } = watchdog;
  for (;;) {
    const child = start(watchdog, trial);
    const end = child === undefined ? "ended" : await watch(watchdog, child, trial);
    const left = endLeftovers(watchdog.env);
    if (left > 0) log.warn("ended what the peel left running", { processes: left });
    if (end === "stopping" || end === "requested") return end;
    if (trial !== undefined && !trial.isOver) trial.ended(child?.end);
    if (trial?.failure !== undefined) {
      log.error("upgrade rolled back", { jid: trial.staged.jid, reason: trial.failure });
      return "failed";
    }
    if (trial === undefined || trial.isOver) {
      watchdog.restarts++;
      return end;
    }
    if (!(await waited(watchdog, limits.firstPauseMs))) return "stopping";
  }
}

function start(watchdog: Watchdog, trial: Trial | undefined): Child | undefined {
  const { args, env, dataDir, upgrades, restarts, clock, log } = watchdog;
  const binary = trial?.staged.sha256 ?? upgrades.state.current?.sha256;
  const program = binary === undefined ? watchdog.program : upgrades.binary(binary);
  try {
    const marked = { ...env, ...watchdogVariable(process.pid, restarts, dataDir) };
    const child = startChild({ program, args, env: marked, clock });
    log.info("peel started by the watchdog", { pid: child.pid, program, restarts });
    return child;
  } catch (thrown) {
    const reason = describeError(thrown);
    log.error("the peel cannot be started", { program, reason });
    if (trial !== undefined) trial.fail(`it cannot start: ${reason}`);
    else if (binary !== undefined && isNoProgram(thrown)) upgrades.note({ kind: "unusable" });
    return undefined;
  }
}

async function watch(watchdog: Watchdog, child: Child, trial: Trial | undefined): Promise<End> {
  const { limits, clock, log, signal } = watchdog;
  const over = AbortSignal.any([child.gone, signal]);
  const isTaken = () => isTakenFrom(child.pid, watchdog.health.port);
  const health = createHealth(watchdog, { isTaken, onWell: watchdog.backoff.reset });
  for (;;) {
    if (signal.aborted) {
      await child.stop(limits.stopMs);
      return "stopping";
    }
    if (child.end !== undefined) {
      log.warn("the peel ended", { pid: child.pid, end: child.end });
      return "ended";
    }
    if (!watchdog.announced) await announce(watchdog, over, isTaken);
    const isTried = trial !== undefined && !trial.isOver;
    const end = isTried ? await tryOut(watchdog, trial, over) : await supervise(watchdog, health, over);
    if (end === "frozen") {
      log.error("the peel does not answer; killing it", { pid: child.pid, tries: limits.healthTries });
      await child.kill();
    } else if (end !== undefined) await child.stop(limits.stopMs);
    if (end !== undefined) return end;
    await sleep(clock, limits.pollMs, over).catch(() => {});
  }
}

/** @returns why the trial ends the peel, if it does */
async function tryOut(
  { upgrades }: Watchdog,
  trial: Trial,
  over: AbortSignal,
): Promise<"failed" | undefined> {
  await trial.check(over);
  if (trial.failure !== undefined) return "failed";
  if (trial.isOver) upgrades.commit(trial.staged);
  return undefined;
}

/** @returns why a peel outside a trial must end, if it must */
async function supervise(
  { upgrades }: Watchdog,
  health: ReturnType<typeof createHealth>,
  over: AbortSignal,
): Promise<"requested" | "frozen" | undefined> {
  if (await upgrades.claim()) return "requested";
  return (await health.check(over)) === "frozen" && !over.aborted ? "frozen" : undefined;
}

/** A peel has started when its health server answers, or cannot; it waits for no bus with that. */
async function announce(watchdog: Watchdog, over: AbortSignal, isTaken: () => boolean) {
  const answers = (await requestHealth(watchdog, over)) !== undefined;
  if (!answers && !isTaken()) return;
  watchdog.announced = true;
  const place = isTaken() ? "off" : `on port ${watchdog.health.port}`;
  watchdog.service?.ready(`the peel runs; health ${place}`);
}

async function pause(watchdog: Watchdog) {
  const waitMs = watchdog.backoff.next();
  watchdog.log.info("starting the peel again", { in_ms: waitMs });
  await waited(watchdog, waitMs);
}

async function waited({ clock, signal }: Watchdog, ms: number): Promise<boolean> {
  await sleep(clock, ms, signal).catch(() => {});
  return !signal.aborted;
}

/** Whether the program file is missing, or not executable. */
function isNoProgram(thrown: unknown): boolean {
  return ["ENOENT", "EACCES", "ENOEXEC"].some((code) => isErrno(thrown, code));
}

/** Stops orphans: they hold the listen address of the next peel. @throws SvcError `conflict` */
async function endOrphans(dataDir: string, clock: Clock, log: Log): Promise<void> {
  const giveUpAt = clock.monotonic() + orphanTimeoutMs;
  for (let first = true; ; first = false) {
    const orphans = orphansOf(dataDir, process.getuid?.() ?? -1, findMarked());
    if (orphans.length === 0 || clock.monotonic() >= giveUpAt) return;
    for (const pid of orphans) {
      if (first) log.warn("ending a peel that an earlier watchdog left behind", { pid });
      try {
        process.kill(pid, "SIGKILL");
      } catch (cause) {
        if (!isErrno(cause, "ESRCH")) throw cause;
      }
    }
    await sleep(clock, orphanPollMs);
  }
}
