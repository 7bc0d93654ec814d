import { describeError } from "../../base/errors.ts";
import { contend, type Lease, type LeaseHolder, type Tenure } from "../../bus/lease/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import {
  type NeededSources,
  neededSources,
  type RuleSet,
  refusedMessage,
  type SourceName,
  watchRules,
} from "./rules/mod.ts";
import { type ReactorSession, type SessionOptions, startSession } from "./session.ts";

/** Grace period for the sources to start. */
const startMs = 5_000;
const measureMs = 10_000;
const restart = "systemctl restart svc-master, on the host of that master";

export interface ReactorOptions extends SessionOptions {
  /** The bucket `leases`. */
  leases: Bucket;
  /** Directory of the rule files. */
  dir: string;
  /** Display name of this master. */
  self: string;
  /** Called when this master starts the reactor. The result is stopped when it no longer runs it. */
  onSession(session: ReactorSession): { stop(): void };
  /** A number in [0, 1). */
  jitter: () => number;
}

/** The reactor of one master. */
export interface RunningReactor {
  readonly lease: Pick<Lease, "name" | "tenure" | "holder">;
  readonly rules: RuleSet;
  /** Why the current rule files are not in force. */
  readonly problem: string | undefined;
  /** Only while this master runs the reactor. */
  readonly session: ReactorSession | undefined;
  /** Unread events of each source, measured recently. Absent on standby masters. */
  readonly waiting: Readonly<Partial<Record<SourceName, number>>> | undefined;
  /** Health of the reactor, for `/readyz`. */
  health(): CheckResult;
  stop(): Promise<void>;
}

/** What one master runs, and from which rules. */
interface Run {
  readonly options: ReactorOptions;
  readonly watching: ReturnType<typeof watchRules>;
  needed: NeededSources;
  current: { session: ReactorSession; tenure: Tenure } | undefined;
  waiting: Partial<Record<SourceName, number>> | undefined;
  /** The tenure in which the reactor ended, and why. */
  failed: { tenure: Tenure; reason: string } | undefined;
}

/** Runs the reactor while this master holds the lease. Otherwise it is on standby. */
export function startReactor(options: ReactorOptions): RunningReactor {
  const { clock, log } = options;
  const watching = watchRules(options.dir, {
    clock,
    log,
    onChange(rules) {
      run.needed = neededSources(rules.rules, run.needed, clock.now());
      run.current?.session.useRules(rules, run.needed);
    },
  });
  const run: Run = {
    ...{ options, watching, current: undefined, waiting: undefined, failed: undefined },
    needed: neededSources(watching.current.rules, new Map(), clock.now()),
  };
  const reacting = new Set<Promise<void>>();
  const lease = contend({
    bucket: options.leases,
    name: "reactor",
    self: options.self,
    onTenure(tenure) {
      const done = react(run, tenure, (one) => lease.tenure === one)
        .catch((thrown) => {
          const reason = describeError(thrown);
          run.failed = { tenure, reason };
          log.error("the reactor ended", { error: reason });
        })
        .finally(() => reacting.delete(done));
      reacting.add(done);
    },
    clock,
    jitter: options.jitter,
    log,
  });
  return {
    lease,
    get rules() {
      return watching.current;
    },
    get problem() {
      return watching.problem?.message;
    },
    get session() {
      return run.current?.session;
    },
    get waiting() {
      return run.waiting;
    },
    health: () => healthOf(run, lease),
    async stop() {
      watching.stop();
      await lease.stop();
      await Promise.all(reacting);
    },
  };
}

/** Reacts until the tenure ends. */
async function react(run: Run, tenure: Tenure, isHolder: (tenure: Tenure) => boolean): Promise<void> {
  const { options, watching } = run;
  const session = await startSession({ ...options, rules: () => watching.current, isHolder }, tenure);
  const doors = options.onSession(session);
  run.current = { session, tenure };
  session.useRules(watching.current, run.needed);
  const measuring = options.clock.every(measureMs, () => {
    measure(run, session).catch((thrown) =>
      options.log.debug("sources not measured", { reason: describeError(thrown) }),
    );
  });
  await new Promise<void>((resolve) => {
    if (tenure.signal.aborted) resolve();
    else tenure.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  if (run.current?.session === session) {
    run.current = undefined;
    run.waiting = undefined;
  }
  measuring.cancel();
  doors.stop();
  await session.stop();
}

async function measure(run: Run, session: ReactorSession): Promise<void> {
  const positions = await session.sources.positions();
  if (run.current?.session !== session) return;
  run.waiting = Object.fromEntries(
    Object.entries(positions).map(([name, at]) => [name, at.waiting + at.inHand]),
  );
}

function healthOf(
  { current, failed, watching }: Run,
  { tenure, holder }: RunningReactor["lease"],
): ReturnType<RunningReactor["health"]> {
  if (tenure !== undefined && failed?.tenure === tenure) {
    return { status: "down", message: `stopped: ${failed.reason}`, next: restart };
  }
  const wrong = watching.problem?.message ?? refusedMessage(watching.current.refused);
  if (tenure !== undefined && current?.tenure === tenure) {
    const stopped = current.session.sources.stopped(startMs);
    if (stopped.length > 0)
      return { status: "down", message: `not read: ${stopped.join(", ")}`, next: restart };
    const open = current.session.breakers().map(({ rule }) => rule);
    if (wrong === undefined && open.length > 0) {
      const next = open.map((rule) => `svc reactor reset ${rule}`).join("; ");
      return { status: "degraded", message: `open breakers: ${open.join(", ")}`, next };
    }
  }
  if (wrong !== undefined) return { status: "degraded", message: wrong };
  return tenure === undefined ? standingBy(holder) : { status: "up" };
}

function standingBy(holder: LeaseHolder | undefined): { status: "up"; message: string } {
  return { status: "up", message: `standby: ${holder?.holder ?? "no master"} runs the reactor` };
}
