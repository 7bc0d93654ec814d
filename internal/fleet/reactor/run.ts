import { describeError } from "../../base/errors.ts";
import { contend, type Lease, type LeaseHolder, type Tenure } from "../../bus/lease/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RuleSet } from "./rules/mod.ts";
import {
  type NeededSources,
  neededSources,
  refusedMessage,
  type SourceName,
  watchRules,
} from "./rules/mod.ts";
import { type ReactorSession, type SessionOptions, startSession } from "./session.ts";

/** Grace period for the sources to start. */
const startMs = 5_000;
const measureMs = 10_000;

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
  health(): { status: "up" | "degraded" | "down"; message?: string };
  stop(): Promise<void>;
}

/** Runs the reactor while this master holds the lease. Otherwise it is on standby. */
export function startReactor(options: ReactorOptions): RunningReactor {
  const { clock, log } = options;
  let current: { session: ReactorSession; tenure: Tenure } | undefined;
  let waiting: Partial<Record<SourceName, number>> | undefined;
  /** The tenure in which the reactor failed to start. */
  let failed: Tenure | undefined;
  const running = new Set<Promise<void>>();
  let needed: NeededSources = new Map();
  const watching = watchRules(options.dir, {
    clock,
    log,
    onChange(rules) {
      needed = neededSources(rules.rules, needed, clock.now());
      current?.session.useRules(rules, needed);
    },
  });
  needed = neededSources(watching.current.rules, needed, clock.now());
  const isHolder = (tenure: Tenure) => lease.tenure === tenure;

  const react = async (tenure: Tenure) => {
    const session = await startSession({ ...options, rules: () => watching.current, isHolder }, tenure);
    const doors = options.onSession(session);
    current = { session, tenure };
    session.useRules(watching.current, needed);
    const measure = async () => {
      const positions = await session.sources.positions();
      if (current?.session !== session) return;
      waiting = Object.fromEntries(
        Object.entries(positions).map(([name, at]) => [name, at.waiting + at.inHand]),
      );
    };
    const measuring = clock.every(measureMs, () => {
      measure().catch((thrown) => log.debug("sources not measured", { reason: describeError(thrown) }));
    });
    await new Promise<void>((resolve) => {
      if (tenure.signal.aborted) resolve();
      else tenure.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    if (current?.session === session) {
      current = undefined;
      waiting = undefined;
    }
    measuring.cancel();
    doors.stop();
    await session.stop();
  };
  const lease = contend({
    bucket: options.leases,
    name: "reactor",
    self: options.self,
    onTenure(tenure) {
      const done = react(tenure)
        .catch((thrown) => {
          failed = tenure;
          log.error("the reactor ended", { error: describeError(thrown) });
        })
        .finally(() => running.delete(done));
      running.add(done);
    },
    clock,
    jitter: options.jitter,
    log,
  });

  const problem = () => watching.problem?.message;
  return {
    lease,
    get rules() {
      return watching.current;
    },
    get problem() {
      return problem();
    },
    get session() {
      return current?.session;
    },
    get waiting() {
      return waiting;
    },
    health() {
      const tenure = lease.tenure;
      const wrong = problem() ?? refusedMessage(watching.current.refused);
      if (tenure !== undefined && failed === tenure)
        return { status: "down", message: "stopped: see the log" };
      if (tenure !== undefined && current?.tenure === tenure) {
        const stopped = current.session.sources.stopped(startMs);
        if (stopped.length > 0) {
          return { status: "down", message: `not read: ${stopped.join(", ")}` };
        }
        const open = current.session.breakers().map(({ rule }) => rule);
        if (wrong === undefined && open.length > 0) {
          return { status: "degraded", message: `open breakers: ${open.join(", ")}` };
        }
      }
      if (wrong !== undefined) return { status: "degraded", message: wrong };
      return tenure === undefined ? standingBy(lease.holder) : { status: "up" };
    },
    async stop() {
      watching.stop();
      await lease.stop();
      await Promise.all(running);
    },
  };
}

function standingBy(holder: LeaseHolder | undefined): { status: "up"; message: string } {
  return { status: "up", message: `standby: ${holder?.holder ?? "no master"} runs the reactor` };
}
