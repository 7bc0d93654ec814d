import { describeError } from "../../base/errors.ts";
import type { Bucket } from "../../bus/bucket.ts";
import { contend, type Lease, type LeaseHolder, type Tenure } from "../../bus/lease/lease.ts";
import type { RuleSet } from "./load.ts";
import { type NeededSources, neededSources } from "./needed-sources.ts";
import { type ReactorSession, type SessionOptions, startSession } from "./session.ts";
import type { SourceName } from "./sources.ts";
import { watchRules } from "./watch.ts";

/** How long the sources may take to run, before that is a problem. */
const startMs = 5_000;
const measureMs = 10_000;

export interface ReactorOptions extends SessionOptions {
  /** The bucket `leases`. */
  leases: Bucket;
  /** Directory of the rule files. */
  dir: string;
  /** Name of this master, for people. */
  self: string;
  /** Called when this master begins to react; stops what it began when it no longer does. */
  onSession(session: ReactorSession): { stop(): void };
  /** A number in [0, 1). */
  jitter: () => number;
}

/** One master's part in the reactor. */
export interface RunningReactor {
  readonly lease: Pick<Lease, "name" | "tenure" | "holder">;
  readonly rules: RuleSet;
  /** Why the rule files as they are now are not in force. */
  readonly problem: string | undefined;
  /** While this master reacts. */
  readonly session: ReactorSession | undefined;
  /** What waits to be read in each source, measured a moment ago; absent on masters that stand by. */
  readonly waiting: Readonly<Partial<Record<SourceName, number>>> | undefined;
  /** How this master does, as `/readyz` tells it. */
  health(): { status: "up" | "degraded" | "down"; message?: string };
  stop(): Promise<void>;
}

/** Runs the reactor whenever this master holds the lease, and stands by otherwise. */
export function startReactor(options: ReactorOptions): RunningReactor {
  const { clock, log } = options;
  let current: { session: ReactorSession; tenure: Tenure } | undefined;
  let waiting: Partial<Record<SourceName, number>> | undefined;
  /** The tenure in which this master could not react. */
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
      await session.sources.makeRoom();
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
      const wrong = problem();
      if (tenure !== undefined && failed === tenure)
        return { status: "down", message: "it ended: see the log" };
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
  return { status: "up", message: `standing by: ${holder?.holder ?? "nobody yet"} runs it` };
}
