import { rfc3339, type Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { checkReplicas, type ReplicaCheck } from "../../bus/replicas/mod.ts";
import {
  readHealth,
  replicaAdvice,
  replicaProblem,
  type ServerHealth,
  type SystemBus,
} from "../../bus/servers/mod.ts";
import type { RecentStreams } from "../../bus/streams/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { MasterView } from "../metrics/mod.ts";

const healthMs = 10_000;
/** How old the list of streams may be: how many replicas they have changes when an operator adds servers. */
const listedWithinMs = 15_000;
/** A server that has just started, or an election, is not a fault. */
const patience = 3;
const compareMs = 3600_000;
/** After a server joined, and while replicas differ. */
const compareSoonMs = 60_000;

const restartAdvice = "restart that server";
const roomAdvice = "make room on its disk, then restart that server";
const offAdvice =
  "make room on its disk if it was full, then restart that server; rebuild it if its version is 2.10 (upgrading.md)";
const rebuildAdvice =
  "stop that server, move its jetstream directory away, and start it: it copies everything from the others (upgrading.md)";

const unclearAdvice = "rebuild none of them yet; masters compare again every minute";

function describeTrouble({ name, trouble, problem }: ServerHealth): Trouble {
  if (trouble === "off") return { message: `JetStream is off on ${name}`, next: offAdvice };
  if (trouble === "outside")
    return { message: `the JetStream group does not have ${name}`, next: restartAdvice };
  const next = problem?.includes("no space left on device") === true ? roomAdvice : restartAdvice;
  return { message: `the storage of ${name} does not work: ${problem}`, next };
}

interface Trouble {
  message: string;
  next: string;
}

/** The servers of the bus, as one master watches them. */
export interface WatchedServers {
  /** `bus-servers` of /readyz. */
  check(): CheckResult;
  view: NonNullable<MasterView["busServers"]>;
  stop(): void;
}

export interface BusServersOptions {
  bus: Bus;
  streams: RecentStreams;
  system: Pick<SystemBus, "present" | "queryServers" | "onServerJoin">;
  /** Public key of the account that owns the streams. */
  account: string;
  /** Opens a connection to the server at this address and no other. */
  connectTo: (address: string) => Promise<Bus>;
  jitter: () => number;
  log: Log;
}

/** What a master saw of the servers. */
interface Watching {
  readonly options: BusServersOptions;
  readonly stopping: AbortController;
  /** How often in a row each server had the same problem, by name. */
  readonly problems: Map<string, ServerHealth & { times: number }>;
  health: readonly ServerHealth[];
  maxReplicas: number;
  compared: (ReplicaCheck & { at: number }) | undefined;
  comparing: boolean;
  /** The next comparison. */
  next: Timer;
  /** The message that was logged last. */
  said: string;
}

/** Watches the servers of the bus: their versions, their storage, and whether their replicas are equal. */
export function watchBusServers(options: BusServersOptions): WatchedServers {
  const { bus, system, log } = options;
  const watching: Watching = {
    ...{ options, stopping: new AbortController(), problems: new Map(), health: [], maxReplicas: 1 },
    ...{ compared: undefined, comparing: false, next: { cancel() {} }, said: "" },
  };
  const inspectOrReport = () => {
    inspect(watching).catch((thrown) =>
      log.debug("the servers of the bus are not known", { reason: describeError(thrown) }),
    );
  };
  compareIn(watching, compareSoonMs);
  const unsubscribe = system.onServerJoin(() => compareIn(watching, compareSoonMs));
  const timer = bus.clock.every(healthMs, inspectOrReport);
  inspectOrReport();
  return {
    check: () => judge(watching),
    view() {
      const { health, compared } = watching;
      const isBroken = (name: string) => broken(watching).some((one) => one.name === name);
      return {
        healthy: Object.fromEntries(health.map(({ name }) => [name, !isBroken(name)])),
        differing: compared?.differences.length,
        ...defined({ comparedAt: compared?.at }),
      };
    },
    stop() {
      watching.stopping.abort(new Error("the master stops"));
      watching.next.cancel();
      unsubscribe();
      timer.cancel();
    },
  };
}

async function inspect(watching: Watching): Promise<void> {
  const { streams, system, log } = watching.options;
  const { problems } = watching;
  const listed = await streams.list(listedWithinMs);
  watching.maxReplicas = Math.max(1, ...listed.map(({ replicas }) => replicas));
  watching.health = await readHealth(system);
  for (const one of watching.health) {
    const before = problems.get(one.name);
    if (one.trouble === undefined) problems.delete(one.name);
    else {
      const same = before?.trouble === one.trouble && before.problem === one.problem;
      problems.set(one.name, { ...one, times: same ? before.times + 1 : 1 });
    }
  }
  const { status, message = "", next } = judge(watching);
  if (status !== "up" && message !== watching.said)
    log.error("the servers of the bus need attention", { reason: message, next });
  watching.said = message;
}

function broken({ problems, health }: Watching) {
  return [...problems.values()].filter(
    ({ name, trouble, times }) =>
      (trouble === "off" || times >= patience) && health.some((one) => one.name === name),
  );
}

function judge(watching: Watching): CheckResult {
  const { maxReplicas, compared, options } = watching;
  const old = maxReplicas > 1 ? replicaProblem(options.system.present()) : undefined;
  if (old !== undefined) return { status: "down", message: old, next: replicaAdvice };
  const reported = broken(watching).map(describeTrouble);
  const [first, ...others] = compared?.differences ?? [];
  if (first !== undefined) {
    const more = others.length === 0 ? "" : `, and ${others.length} more`;
    const next = first.unclear ? unclearAdvice : rebuildAdvice;
    reported.push({ message: `${first.message}${more}`, next });
  }
  if (reported.length > 0) {
    return {
      status: "degraded",
      message: reported.map(({ message }) => message).join("; "),
      next: [...new Set(reported.map(({ next }) => next))].join("; "),
    };
  }
  if (compared === undefined || compared.streams === 0) return { status: "up" };
  return {
    status: "up",
    message: `${compared.streams} replicated streams are equal, compared at ${rfc3339(compared.at)}`,
  };
}

function compareIn(watching: Watching, ms: number): void {
  watching.next.cancel();
  watching.next = watching.options.bus.clock.after(ms, () => void compareAndRepeat(watching));
}

async function compareAndRepeat(watching: Watching): Promise<void> {
  if (watching.comparing) return;
  const { signal } = watching.stopping;
  watching.comparing = true;
  try {
    watching.compared = await compare(watching.options, signal);
  } catch (thrown) {
    if (!signal.aborted) {
      watching.options.log.warn("replicas not compared", { error: describeError(thrown) });
    }
  }
  watching.comparing = false;
  if (signal.aborted) return;
  const isEqual = (watching.compared?.differences.length ?? 0) === 0;
  compareIn(watching, isEqual ? compareMs : compareSoonMs);
}

async function compare(
  options: BusServersOptions,
  signal: AbortSignal,
): Promise<ReplicaCheck & { at: number }> {
  const { bus, jitter, log } = options;
  const compared = await checkReplicas({ ...options, offset: jitter(), signal });
  const { streams, sampled, differences } = compared;
  if (streams > 0) log.info("replicas compared", { streams, sampled, differences: differences.length });
  for (const { stream, server, message, unclear } of differences) {
    const next = unclear ? unclearAdvice : rebuildAdvice;
    log.error("replicas differ", { stream, server, reason: message, next });
  }
  return { ...compared, at: bus.clock.now() };
}
