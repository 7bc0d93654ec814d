import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Mirror } from "./mirror.ts";
import { type GitProblem, openRemote, type ReadRemote, type RemoteState } from "./read-remote.ts";
import type { Released } from "./signed/released.ts";

/** Refs that a message names. */
const shownProblems = 3;
/** Synchronizes repositories periodically. */
export interface GitSync {
  /** In configuration order. */
  states(): readonly RemoteState[];
  /** The problem, in one sentence; `undefined` when every remote was read in time. */
  problem(): string | undefined;
  /** The remotes that are not read in time, then the refs that have newer content which is not used. */
  problems(): readonly GitProblem[];
  /** Whether it is running. */
  readonly running: boolean;
  /** Reads all remotes now. */
  syncNow(): Promise<void>;
  stop(): Promise<void>;
}

export interface GitSyncOptions {
  mirrors: readonly Mirror[];
  /** `gitfs.interval` */
  intervalMs: number;
  /** The commit of a ref of a remote that is in force for an environment. */
  inForce(remote: string, environment: string, ref: string): string | undefined;
  /** The newest release of an environment, as far as refs of this remote need it. */
  released(remote: string, environment: string): Released | undefined;
  /** Called when the content of a remote changed. */
  onChange(): void;
  clock: Clock;
  /** Returns a number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Reads all remotes immediately and then at each interval; a failing remote keeps its previous content. Each has an
 * interval of its own, because one that hangs would keep the others from being read.
 */
export function startGitSync(options: GitSyncOptions): GitSync {
  const { mirrors, intervalMs, clock, jitter, log } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  const remotes = mirrors.map((mirror) => openRemote(mirror, { ...options, signal }));
  let running = true;
  const loop = async (remote: ReadRemote) => {
    for (;;) {
      await remote.sync();
      // Spread the requests of masters that start at the same time.
      await sleep(clock, Math.round(intervalMs * (0.95 + jitter() / 10)), signal);
    }
  };
  const ended = (thrown: unknown) => {
    running = false;
    if (!signal.aborted) log.error("gitfs ended", { reason: describeError(thrown) });
  };
  const looping = Promise.all(remotes.map((remote) => loop(remote).catch(ended)));
  return {
    states: () => remotes.map((remote) => remote.state()),
    problem: () => problemOf(remotes),
    problems: () => [
      ...remotes.flatMap((remote) => {
        const reason = remote.stale();
        return reason === undefined ? [] : [{ remote: remote.state().remote, reason }];
      }),
      ...remotes.flatMap((remote) => remote.problems()),
    ],
    get running() {
      return running;
    },
    async syncNow() {
      await Promise.all(remotes.map((remote) => remote.sync()));
    },
    async stop() {
      stopping.abort(new Error("gitfs was stopped"));
      await looping;
      await Promise.all(mirrors.map((mirror) => mirror.stop()));
    },
  };
}

/** The first remote that was not read in time, or the refs that were not, in one line. */
function problemOf(remotes: readonly ReadRemote[]): string | undefined {
  const stale = remotes.map((remote) => remote.stale()).find((problem) => problem !== undefined);
  if (stale !== undefined) return stale;
  const lines = remotes
    .flatMap((remote) => remote.problems())
    .map(({ remote, ref, reason }) => `${remote} ${ref}: ${reason}`);
  const more = lines.length - shownProblems;
  if (lines.length === 0) return undefined;
  return `${lines.slice(0, shownProblems).join("; ")}${more > 0 ? `; and ${more} more: see svc status` : ""}`;
}
