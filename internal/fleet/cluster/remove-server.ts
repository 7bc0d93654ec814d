import { SvcError } from "../../base/errors.ts";
import { type Bus, leaveServer, type Membership, setReplicas, untilComplete } from "../../bus/mod.ts";
import { planRemoval } from "./plan-removal.ts";

/** What a removal needs of a master. */
export interface RemovalDeps {
  bus: Bus;
  membership(): Promise<Membership>;
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
    const plan = planRemoval(await deps.membership(), server);
    if (plan === "gone") return { done: true, steps, left: 0 };
    if ("reason" in plan) throw new SvcError(plan.kind, plan.reason);
    const { replicas, lowered, left } = plan;
    const remaining = () => lowered.length + left.length + 1;
    if (isLate()) return { done: false, steps, left: remaining() };
    const [stream] = lowered;
    const [leaving] = left;
    if (stream !== undefined) {
      await setReplicas(bus, stream, replicas);
      steps.push(`${stream}: stored on ${replicas} servers`);
    } else if (leaving !== undefined) {
      await leaveServer(bus, leaving, server);
      const options = { replicas, without: server, timeoutMs: streamMs };
      if (!(await untilComplete(bus, leaving, options))) return { done: false, steps, left: remaining() };
      steps.push(`${leaving}: left ${server}`);
    } else {
      await deps.giveUp(server);
      steps.push(`${server}: left the JetStream group`);
    }
  }
}

/** The steps that a removal would do now. @throws SvcError as `removeServer` */
export function planSteps(membership: Membership, server: string): Progress {
  const plan = planRemoval(membership, server);
  if (plan === "gone") return { done: true, steps: [], left: 0 };
  if ("reason" in plan) throw new SvcError(plan.kind, plan.reason);
  const steps = [
    ...plan.lowered.map((stream) => `${stream}: stored on ${plan.replicas} servers`),
    ...plan.left.map((stream) => `${stream}: left ${server}`),
    `${server}: left the JetStream group`,
  ];
  return { done: false, steps, left: steps.length };
}
