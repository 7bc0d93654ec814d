import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { isErrno } from "../../base/file.ts";
import type { Log } from "../../base/log.ts";
import type { ServiceManager } from "../../base/service-manager.ts";
import { digestOfFile } from "../../host/binary/mod.ts";
import {
  afterEvent,
  type StagedUpgrade,
  type UpgradeEvent,
  upgradeFiles,
  watchdogVariable,
} from "../upgrade/mod.ts";
import { type Child, startChild } from "./child.ts";
import { endLeftovers } from "./leftovers.ts";
import type { Limits } from "./limits.ts";
import { findMarked, orphansOf } from "./orphans.ts";
import { probe } from "./probe.ts";
import { createTrial, type Trial } from "./trial.ts";

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
  /** Is told when the first peel has started: nobody listens to the peel itself. */
  service?: ServiceManager;
}

/** Why the watchdog stopped watching a peel. */
type End = "stopping" | "ended" | "frozen" | "requested" | "failed";

const orphanPollMs = 50;
/** Timeout for killed orphans to exit. */
const orphanTimeoutMs = 5_000;

/**
 * Keeps a peel running until the signal aborts. Restarts it when it exits or freezes, and switches it to
 * another executable and back. Every step of a switch is written to disk first, so that the next watchdog
 * can roll back an interrupted one.
 *
 * @throws SvcError `conflict` when another watchdog runs a peel in this directory; `storage` when the state
 *   of upgrades cannot be written at the start
 */
export async function runWatchdog(options: WatchdogOptions): Promise<void> {
  const { program, dataDir, limits, clock, log, signal } = options;
  const files = upgradeFiles(dataDir);
  const { firstPauseMs: firstMs, longestPauseMs: longestMs } = limits;
  const backoff = createBackoff({ firstMs, longestMs, jitter: options.jitter });
  let state = files.state();
  let restarts = 0;
  let announced = options.service?.listens !== true;
  /** Digest of the packaged executable, once it was needed. */
  let packaged = "";

  /** @returns whether the state was written. In memory it changes in any case. */
  const note = (event: UpgradeEvent): boolean => {
    const next = afterEvent(state, event, clock.now());
    if (next === state) return true;
    state = next;
    try {
      files.writeState(state);
      return true;
    } catch (thrown) {
      log.error("the state of upgrades cannot be written", { error: describeError(thrown) });
      return false;
    }
  };

  await endOrphans(dataDir, clock, log);
  if (state.trial !== undefined) {
    log.warn("an upgrade was not decided; going back", {
      jid: state.trial.jid,
      version: state.trial.version,
    });
  }
  note({ kind: "started" });
  await checkCurrent();
  dropKnownRequest();

  while (!signal.aborted) {
    const trial = state.trial === undefined ? undefined : createTrial(state.trial, options);
    const end = await runOne(trial);
    if (end === "stopping") return;
    if (end === "failed") note({ kind: "failed", reason: trial?.failure ?? "" });
    else if (end !== "requested") await pause();
  }

  /** Starts the current peel and watches it. A trial includes the restarts that it allows. */
  async function runOne(trial: Trial | undefined): Promise<End> {
    for (;;) {
      const child = start(trial);
      const end = child === undefined ? "ended" : await watch(child, trial);
      const left = endLeftovers(options.env);
      if (left > 0) log.warn("ended what the peel left running", { processes: left });
      if (end === "stopping" || end === "requested") return end;
      if (trial !== undefined && !trial.isOver) trial.ended(child?.end);
      if (trial?.failure !== undefined) {
        log.error("upgrade rolled back", { jid: trial.staged.jid, reason: trial.failure });
        return "failed";
      }
      if (trial === undefined || trial.isOver) {
        restarts++;
        return end;
      }
      if (!(await waited(limits.firstPauseMs))) return "stopping";
    }
  }

  function start(trial: Trial | undefined): Child | undefined {
    const binary = trial?.staged.sha256 ?? state.current?.sha256;
    const path = binary === undefined ? program : files.binary(binary);
    try {
      const child = startChild({
        program: path,
        args: options.args,
        env: { ...options.env, ...watchdogVariable(process.pid, restarts, dataDir) },
        clock,
      });
      log.info("peel started by the watchdog", { pid: child.pid, program: path, restarts });
      return child;
    } catch (thrown) {
      const reason = describeError(thrown);
      log.error("the peel cannot be started", { program: path, reason });
      if (trial !== undefined) trial.fail(`it cannot start: ${reason}`);
      else if (binary !== undefined && isNoProgram(thrown)) note({ kind: "unusable" });
      return undefined;
    }
  }

  async function watch(child: Child, trial: Trial | undefined): Promise<End> {
    const over = AbortSignal.any([child.gone, signal]);
    const health = createHealth();
    for (;;) {
      if (signal.aborted) {
        await child.stop(limits.stopMs);
        return "stopping";
      }
      if (child.end !== undefined) {
        log.warn("the peel ended", { pid: child.pid, end: child.end });
        return "ended";
      }
      if (!announced) await announce(over);
      if (trial !== undefined && !trial.isOver) {
        await trial.look(over);
        if (trial.failure !== undefined) {
          await child.stop(limits.stopMs);
          return "failed";
        }
        if (trial.isOver) commit(trial.staged);
      } else {
        if (await claim()) {
          await child.stop(limits.stopMs);
          return "requested";
        }
        if ((await health.look(over)) === "frozen" && !over.aborted) {
          log.error("the peel does not answer; killing it", { pid: child.pid, tries: limits.healthTries });
          await child.kill();
          return "frozen";
        }
      }
      await sleep(clock, limits.pollMs, over).catch(() => {});
    }
  }

  /** A peel has started when its health server answers; it waits for no bus with that. */
  async function announce(over: AbortSignal) {
    if ((await ask(over)) === undefined) return;
    announced = true;
    options.service?.ready(`the peel runs; health on port ${options.health.port}`);
  }

  function ask(over: AbortSignal) {
    return probe({ ...options.health, path: "/healthz", timeoutMs: limits.answerMs, clock, signal: over });
  }

  /** Counts answers that do not come; time spent well makes the next pause short again. */
  function createHealth() {
    let askAt = clock.monotonic() + limits.healthEveryMs;
    let silent = 0;
    let wellSince: number | undefined;
    return {
      async look(over: AbortSignal): Promise<"frozen" | "fine"> {
        if (clock.monotonic() < askAt) return "fine";
        const answer = await ask(over);
        const now = clock.monotonic();
        askAt = now + limits.healthEveryMs;
        if (answer === undefined) {
          wellSince = undefined;
          return ++silent >= limits.healthTries ? "frozen" : "fine";
        }
        silent = 0;
        wellSince ??= now;
        if (now - wellSince >= limits.wellAfterMs) backoff.reset();
        return "fine";
      },
    };
  }

  /** Claims the binary that the peel has staged, if it is usable. @returns whether a trial begins */
  async function claim(): Promise<boolean> {
    const staged = files.request();
    if (staged === undefined) return false;
    const before = state;
    const problem = await problemOf(staged);
    const isKept = note(
      problem === undefined ? { kind: "requested", staged } : { kind: "refused", staged, reason: problem },
    );
    // Do not begin a trial that is not recorded for the next watchdog.
    if (!isKept) state = before;
    files.removeRequest();
    const { jid, version, from } = staged;
    if (state.trial === undefined) log.error("upgrade refused", { jid, reason: state.outcome?.reason });
    else log.info("upgrade begins", { jid, version, from });
    return state.trial !== undefined;
  }

  async function problemOf({ sha256 }: StagedUpgrade): Promise<string | undefined> {
    try {
      packaged = await digestOfFile(program);
      return (await digestOfFile(files.binary(sha256))) === sha256
        ? undefined
        : "the staged binary has changed since it was staged";
    } catch (thrown) {
      return `the staged binary cannot be verified: ${describeError(thrown)}`;
    }
  }

  function commit({ jid, version, from }: StagedUpgrade) {
    note({ kind: "settled", packaged });
    log.info("upgrade committed", { jid, version, from });
  }

  /** A package that was installed since then takes precedence over an upgraded binary. */
  async function checkCurrent() {
    const { current } = state;
    if (current === undefined) return;
    packaged = await digestOfFile(program);
    note({ kind: "packaged", sha256: packaged });
    if (state.current === undefined) {
      log.info("the packaged peel was renewed and is used again", { instead_of: current.version });
      return;
    }
    const digest = await digestOfFile(files.binary(current.sha256)).catch(() => undefined);
    if (digest === current.sha256) return;
    log.error("the binary of the last upgrade is gone or damaged; using the packaged one", {
      version: current.version,
    });
    note({ kind: "unusable" });
  }

  /** Removes a request that a watchdog claimed before it died. */
  function dropKnownRequest() {
    const staged = files.request();
    if (staged !== undefined && staged.jid === state.outcome?.jid) files.removeRequest();
  }

  async function pause() {
    const waitMs = backoff.next();
    log.info("starting the peel again", { in_ms: waitMs });
    await waited(waitMs);
  }

  async function waited(ms: number): Promise<boolean> {
    await sleep(clock, ms, signal).catch(() => {});
    return !signal.aborted;
  }
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
