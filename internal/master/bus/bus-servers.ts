import { rfc3339 } from "../../base/clock.ts";
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

const offAdvice =
  "make room on its disk if it was full, then restart that server; rebuild it if its version is 2.10 (upgrading.md)";
const rebuildAdvice =
  "stop that server, move its jetstream directory away, and start it: it copies everything from the others (upgrading.md)";

const unclearAdvice = "rebuild none of them yet; masters compare again every minute";

function describeTrouble({ name, trouble, problem }: ServerHealth): string {
  if (trouble === "off") return `JetStream is off on ${name}: ${offAdvice}`;
  if (trouble === "outside") return `the JetStream group does not have ${name}: restart that server`;
  return `the storage of ${name} does not work: ${problem}: restart that server`;
}

/** The servers of the bus, as one master watches them. */
export interface WatchedServers {
  /** `bus-servers` of /readyz. */
  check(): CheckResult;
  view: NonNullable<MasterView["busServers"]>;
  stop(): void;
}

/**
 * Watches the servers of the bus: their versions, their storage, and whether their replicas are equal.
 *
 * @param options.account public key of the account that owns the streams
 * @param options.connectTo opens a connection to the server at this address and no other
 */
export function watchBusServers(options: {
  bus: Bus;
  streams: RecentStreams;
  system: Pick<SystemBus, "present" | "queryServers" | "onServerJoin">;
  account: string;
  connectTo: (address: string) => Promise<Bus>;
  jitter: () => number;
  log: Log;
}): WatchedServers {
  const { bus, streams, system, jitter, log } = options;
  const { clock } = bus;
  const stopping = new AbortController();
  /** How often in a row each server had the same problem, by name. */
  const problems = new Map<string, ServerHealth & { times: number }>();
  let health: readonly ServerHealth[] = [];
  let maxReplicas = 1;
  let compared: (ReplicaCheck & { at: number }) | undefined;
  let said = "";

  const inspect = async () => {
    maxReplicas = Math.max(1, ...(await streams.list(listedWithinMs)).map(({ replicas }) => replicas));
    health = await readHealth(system);
    for (const one of health) {
      const before = problems.get(one.name);
      if (one.trouble === undefined) problems.delete(one.name);
      else {
        const same = before?.trouble === one.trouble && before.problem === one.problem;
        problems.set(one.name, { ...one, times: same ? before.times + 1 : 1 });
      }
    }
    const { status, message = "" } = check();
    if (status !== "up" && message !== said)
      log.error("the servers of the bus need attention", { reason: message });
    said = message;
  };
  const broken = () =>
    [...problems.values()].filter(
      ({ name, trouble, times }) =>
        (trouble === "off" || times >= patience) && health.some((one) => one.name === name),
    );
  const compare = async () => {
    compared = {
      ...(await checkReplicas({ ...options, offset: jitter(), signal: stopping.signal })),
      at: clock.now(),
    };
    const { streams, sampled, differences } = compared;
    if (streams > 0) log.info("replicas compared", { streams, sampled, differences: differences.length });
    for (const { stream, server, message, unclear } of differences) {
      const next = unclear ? unclearAdvice : rebuildAdvice;
      log.error("replicas differ", { stream, server, reason: message, next });
    }
  };

  let next = clock.after(compareSoonMs, () => {});
  let comparing = false;
  const compareIn = (ms: number) => {
    next.cancel();
    next = clock.after(ms, () => void compareNow());
  };
  const compareNow = async () => {
    if (comparing) return;
    comparing = true;
    try {
      await compare();
    } catch (thrown) {
      if (!stopping.signal.aborted) log.warn("replicas not compared", { error: describeError(thrown) });
    }
    comparing = false;
    if (stopping.signal.aborted) return;
    compareIn((compared?.differences.length ?? 0) > 0 ? compareSoonMs : compareMs);
  };
  const check = (): CheckResult => {
    const old = maxReplicas > 1 ? replicaProblem(system.present()) : undefined;
    if (old !== undefined) return { status: "down", message: `${old}: ${replicaAdvice}` };
    const reported = broken().map(describeTrouble);
    const [first, ...others] = compared?.differences ?? [];
    if (first !== undefined) {
      const more = others.length === 0 ? "" : `, and ${others.length} more`;
      reported.push(`${first.message}${more}: ${first.unclear ? unclearAdvice : rebuildAdvice}`);
    }
    if (reported.length > 0) return { status: "degraded", message: reported.join("; ") };
    if (compared === undefined || compared.streams === 0) return { status: "up" };
    return {
      status: "up",
      message: `${compared.streams} replicated streams are equal, compared at ${rfc3339(compared.at)}`,
    };
  };
  const checkOrReport = () => {
    inspect().catch((thrown) =>
      log.debug("the servers of the bus are not known", { reason: describeError(thrown) }),
    );
  };
  compareIn(compareSoonMs);
  const unsubscribe = system.onServerJoin(() => compareIn(compareSoonMs));
  const timer = clock.every(healthMs, checkOrReport);
  checkOrReport();
  return {
    check,
    view: () => ({
      healthy: Object.fromEntries(
        health.map(({ name }) => [name, !broken().some((one) => one.name === name)]),
      ),
      differing: compared === undefined ? undefined : compared.differences.length,
      ...(compared === undefined ? {} : { comparedAt: compared.at }),
    }),
    stop() {
      stopping.abort(new Error("the master stops"));
      next.cancel();
      unsubscribe();
      timer.cancel();
    },
  };
}
