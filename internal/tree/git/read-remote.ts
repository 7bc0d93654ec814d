import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { GitEnvironment, Mirror, MirrorState, RefProblem, SyncOptions } from "./mirror.ts";
import type { Released } from "./signed/released.ts";

/** A remote counts as stale after this many intervals (specification, "Master checks"). */
const staleIntervals = 3;
/** Time that all refs but `base` may take together, unless the interval is longer. */
const othersMs = 60_000;
const shownWarnings = 20;

/** The state of a remote. */
export interface RemoteState {
  /** The URL without credentials. */
  remote: string;
  environments: ReadonlyMap<string, GitEnvironment>;
  /** Environments that the remote has, and whose content cannot be used now. */
  held: ReadonlySet<string>;
  /**
   * Whether the remote was read since the start; otherwise this is the state of the local mirror. A set names the
   * environments that were read.
   */
  confirmed: MirrorState["confirmed"];
}

/** A remote that is read again and again; what cannot be read keeps its previous content. */
export interface ReadRemote {
  /** Reads it once more; requests at the same time share a run that began after them. */
  sync(): Promise<void>;
  state(): RemoteState;
  /** Why it counts as stale; `undefined` when it was read in time. */
  stale(): string | undefined;
  /** The refs whose newest content is not used. */
  problems(): readonly GitProblem[];
}

/** A ref whose newest content is not used, or a remote that cannot be read. */
export interface GitProblem {
  /** Without user and password. */
  remote: string;
  /** Absent when it is the remote. */
  ref?: string;
  environment?: string;
  reason: string;
}

interface Deps {
  intervalMs: number;
  inForce(remote: string, environment: string, ref: string): string | undefined;
  released(remote: string, environment: string): Released | undefined;
  onChange(): void;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

export function openRemote(mirror: Mirror, deps: Deps): ReadRemote {
  const { intervalMs, clock, log } = deps;
  const { remote } = mirror;
  let state: RemoteState = { remote, environments: new Map(), held: new Set(), confirmed: false };
  let problems: readonly RefProblem[] = [];
  let readAt: number | undefined;
  let reason = "not read yet";
  let warned = "";
  const take = (next: MirrorState) => {
    const before = state;
    state = { remote, ...next, held: heldOf(next) };
    problems = next.problems;
    if (!sameState(before, state)) deps.onChange();
  };
  const warn = (next: MirrorState) => {
    const lines = [...next.problems.map((problem) => `${problem.ref}: ${problem.reason}`), ...next.warnings];
    if (lines.join("\n") === warned) return;
    warned = lines.join("\n");
    for (const warning of lines.slice(0, shownWarnings)) log.warn("gitfs", { remote, warning });
  };
  const inForce: SyncOptions["inForce"] = (environment, ref) => deps.inForce(remote, environment, ref);
  const released: SyncOptions["released"] = (environment) => deps.released(remote, environment);
  // The last content stays until a ref is read again.
  const report = (next: MirrorState) =>
    take(state.confirmed === true ? merged({ state, problems }, next) : next);
  const load = async () => {
    if (state.confirmed !== false || state.environments.size > 0) return;
    try {
      take(await mirror.load({ inForce }));
    } catch (thrown) {
      log.warn("mirror of a git repository not read", { reason: describeError(thrown) });
    }
  };
  const sync = async () => {
    try {
      const options = { inForce, released, report, othersMs: Math.max(intervalMs, othersMs) };
      const found = await mirror.sync(options);
      readAt = clock.monotonic();
      take(found);
      warn(found);
    } catch (thrown) {
      if (deps.signal.aborted) return;
      reason = describeError(thrown);
      log.warn("git repository not read; the previous content stays in force", { remote, reason });
      await load();
    }
  };
  return {
    sync: shareRuns(sync),
    state: () => state,
    stale() {
      if (readAt === undefined) return `no successful sync of ${remote} yet: ${reason}`;
      const silentMs = clock.monotonic() - readAt;
      if (silentMs <= staleIntervals * intervalMs) return undefined;
      return `the last sync of ${remote} was ${Math.round(silentMs / 1000)} s ago: ${reason}`;
    },
    problems: () => problems.map(({ isKept: _, ...problem }) => ({ remote, ...problem })),
  };
}

/** Environments that the remote has, and of which there is no content. */
function heldOf({ problems, environments }: MirrorState): Set<string> {
  const kept = problems.filter(({ isKept, environment }) => isKept && !environments.has(environment));
  return new Set(kept.map(({ environment }) => environment));
}

/** What an unfinished sync has read, over what the last one read. */
function merged(
  { state, problems }: { state: RemoteState; problems: readonly RefProblem[] },
  now: MirrorState,
): MirrorState {
  const { confirmed } = now;
  const isRead = (name: string) => confirmed === true || (confirmed !== false && confirmed.has(name));
  const rest = [...state.environments].filter(([name]) => !isRead(name));
  return {
    ...now,
    environments: new Map([...rest, ...now.environments]),
    problems: [...problems.filter(({ environment }) => !isRead(environment)), ...now.problems],
    confirmed: true,
  };
}

function sameState(a: RemoteState, b: RemoteState): boolean {
  return (
    Bun.deepEquals(a.confirmed, b.confirmed) &&
    Bun.deepEquals(a.held, b.held) &&
    a.environments.size === b.environments.size &&
    [...a.environments].every(([name, { files, commit }]) => {
      const other = b.environments.get(name);
      return other?.files === files && other.commit === commit;
    })
  );
}
