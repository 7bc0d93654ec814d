import { SvcError } from "../../base/errors.ts";
import { leaveServer, setReplicas, untilComplete } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { listStreamNames, orStorageError } from "../../bus/jetstream/mod.ts";
import type { Membership } from "../../bus/servers/mod.ts";
import { planRemoval, type Removal } from "./plan-removal.ts";

/** What a removal needs of a master. */
export interface RemovalDeps {
  bus: Bus;
  /** @param servers which may be away, next to those of the configuration */
  membership(...servers: string[]): Promise<Membership>;
  /** Has the JetStream group give up a server. */
  giveUp(server: string): Promise<void>;
}

export interface Progress {
  done: boolean;
  /** What was done, one sentence each without a full stop. */
  steps: string[];
  /** How many steps are left, as far as is known. */
  left: number;
}

/** How long one stream may take to be complete on its servers, milliseconds. */
const streamMs = 4_000;
/** How long servers may take to change the replicas of one stream, milliseconds. */
const replicasMs = 12_000;

/**
 * Does the next steps of a removal for some seconds: all that it does can be read from the cluster, so that another
 * call continues, from any master and after any crash.
 *
 * @param limitMs when it returns, at the latest after the step that it is at
 * @throws SvcError `conflict` or `unavailable` with the reason why the server may not be removed now
 */
export async function removeServer(deps: RemovalDeps, server: string, limitMs: number): Promise<Progress> {
  const { bus } = deps;
  const began = bus.clock.monotonic();
  const isLate = () => bus.clock.monotonic() - began > limitMs;
  const steps: string[] = [];
  for (;;) {
    const plan = await planNow(deps, server);
    if (plan === "gone") return { done: true, steps, left: 0 };
    const { replicas, lowered, left } = plan;
    const remaining = () => lowered.length + left.length + 1;
    if (isLate()) return { done: false, steps, left: remaining() };
    const [stream] = lowered;
    const [leaving] = left;
    if (stream !== undefined) {
      const isSet = await orStorageError(
        `the stream ${stream}`,
        async () =>
          (await leaveServer(bus, stream, server)) && (await setReplicas(bus, stream, replicas, replicasMs)),
      );
      if (!isSet) return { done: false, steps, left: remaining() };
      steps.push(`${stream}: stored on ${replicas} servers`);
    } else if (leaving !== undefined) {
      const { name } = leaving;
      const options = { replicas: leaving.replicas, without: server, timeoutMs: streamMs };
      const hasLeft = await orStorageError(
        `the stream ${name}`,
        async () => (await leaveServer(bus, name, server)) && (await untilComplete(bus, name, options)),
      );
      if (!hasLeft) return { done: false, steps, left: remaining() };
      steps.push(`${name}: left ${server}`);
    } else {
      await deps.giveUp(server);
      steps.push(`${server}: left the JetStream group`);
    }
  }
}

/** The steps that a removal would do now. @throws SvcError as `removeServer` */
export async function planSteps(
  deps: Pick<RemovalDeps, "bus" | "membership">,
  server: string,
): Promise<Progress> {
  const plan = await planNow(deps, server);
  if (plan === "gone") return { done: true, steps: [], left: 0 };
  const steps = [
    ...plan.lowered.map((stream) => `${stream}: stored on ${plan.replicas} servers`),
    ...plan.left.map(({ name }) => `${name}: left ${server}`),
    `${server}: left the JetStream group`,
  ];
  return { done: false, steps, left: steps.length };
}

async function planNow(
  { bus, membership }: Pick<RemovalDeps, "bus" | "membership">,
  server: string,
): Promise<Removal | "gone"> {
  const [now, names] = await Promise.all([
    membership(server),
    orStorageError("the list of streams", () => listStreamNames(bus)),
  ]);
  const plan = planRemoval(now, names, server);
  if (plan !== "gone" && "reason" in plan) throw new SvcError(plan.kind, plan.reason);
  return plan;
}
