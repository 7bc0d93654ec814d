import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { GitEnvironment, Mirror } from "./mirror.ts";

/** A remote counts as stale after this many intervals (specification, "Master checks"). */
const staleIntervals = 3;

/** The state of a remote. */
export interface RemoteState {
  /** The URL without credentials. */
  remote: string;
  environments: ReadonlyMap<string, GitEnvironment>;
  /** Whether the remote was read since the start; otherwise this is the state of the local mirror. */
  confirmed: boolean;
}

/** Synchronizes repositories periodically. */
export interface GitSync {
  /** In configuration order. */
  states(): readonly RemoteState[];
  /** The problem, in one sentence; `undefined` when every remote was read in time. */
  problem(): string | undefined;
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
  /** Called when the content of a remote changed. */
  onChange(): void;
  clock: Clock;
  /** Returns a number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

interface Remote {
  mirror: Mirror;
  state: RemoteState;
  readAt: number | undefined;
  reason: string;
  warned: string;
}

/** Reads all remotes immediately and then at each interval; a failing remote keeps its previous content. */
export function startGitSync(options: GitSyncOptions): GitSync {
  const { mirrors, intervalMs, onChange, clock, jitter, log } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  const remotes = mirrors.map(
    (mirror): Remote => ({
      mirror,
      state: { remote: mirror.remote, environments: new Map(), confirmed: false },
      readAt: undefined,
      reason: "not read yet",
      warned: "",
    }),
  );
  let running = true;

  const take = (remote: Remote, state: Omit<RemoteState, "remote">, warnings: readonly string[]) => {
    const same = state.confirmed === remote.state.confirmed && sameEnvironments(remote.state, state);
    remote.state = { remote: remote.mirror.remote, ...state };
    const warned = warnings.join("\n");
    if (warned !== remote.warned) {
      for (const warning of warnings.slice(0, 20))
        log.warn("gitfs", { remote: remote.mirror.remote, warning });
    }
    remote.warned = warned;
    if (!same) onChange();
  };
  const syncOne = async (remote: Remote) => {
    const { mirror } = remote;
    try {
      const { environments, warnings } = await mirror.sync();
      remote.readAt = clock.monotonic();
      take(remote, { environments, confirmed: true }, warnings);
    } catch (thrown) {
      if (signal.aborted) return;
      remote.reason = describeError(thrown);
      log.warn("git repository not read; the previous content stays in force", {
        remote: mirror.remote,
        reason: remote.reason,
      });
      if (remote.state.confirmed || remote.state.environments.size > 0) return;
      await mirror.load().then(
        ({ environments, warnings }) => take(remote, { environments, confirmed: false }, warnings),
        (again) => log.warn("mirror of a git repository not read", { reason: describeError(again) }),
      );
    }
  };
  let round: Promise<void> = Promise.resolve();
  const syncNow = () => {
    round = round.then(async () => {
      await Promise.all(remotes.map(syncOne));
    });
    return round;
  };
  const loop = async () => {
    for (;;) {
      await syncNow();
      // Spread the requests of masters that start at the same time.
      await sleep(clock, Math.round(intervalMs * (0.95 + jitter() / 10)), signal);
    }
  };
  const looping = loop().catch((thrown) => {
    running = false;
    if (!signal.aborted) log.error("gitfs ended", { reason: describeError(thrown) });
  });
  return {
    states: () => remotes.map(({ state }) => state),
    problem: () => problemOf(remotes, clock.monotonic(), intervalMs),
    get running() {
      return running;
    },
    syncNow,
    async stop() {
      stopping.abort(new Error("gitfs was stopped"));
      await looping;
      await Promise.all(mirrors.map((mirror) => mirror.stop()));
    },
  };
}

/** The first remote that was not read in time, in one sentence. */
function problemOf(remotes: readonly Remote[], now: number, intervalMs: number): string | undefined {
  for (const { mirror, readAt, reason } of remotes) {
    if (readAt === undefined) return `no successful sync of ${mirror.remote} yet: ${reason}`;
    if (now - readAt > staleIntervals * intervalMs) {
      return `the last sync of ${mirror.remote} was ${Math.round((now - readAt) / 1000)} s ago: ${reason}`;
    }
  }
  return undefined;
}

function sameEnvironments(
  { environments: a }: Pick<RemoteState, "environments">,
  { environments: b }: Pick<RemoteState, "environments">,
): boolean {
  return (
    a.size === b.size &&
    [...a].every(([name, { files, commit }]) => {
      const other = b.get(name);
      return other?.files === files && other.commit === commit;
    })
  );
}
