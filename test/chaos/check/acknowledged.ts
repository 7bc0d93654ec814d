import { type Call, type Check, callsOf, type FinalState, isAcknowledged } from "../history.ts";

const approved = ["approved", "issued", "active", "revoked"];
/** What a record can be after each acknowledged decision. */
const after: Readonly<Record<string, readonly string[]>> = {
  enroll: ["pending", "rejected", ...approved],
  approve: approved,
  reject: ["rejected"],
  credentials: ["issued", "active", "revoked"],
  revoke: ["revoked"],
};

/** Nothing that was acknowledged is lost: records, decisions, jobs and rollouts are known to every master. */
export const checkAcknowledged: Check = (history, final) => {
  const states = Object.entries(final.enrollments).map(
    ([master, list]) => [master, new Map(list.map(({ id, state }) => [id, state]))] as const,
  );
  return callsOf(history)
    .filter(isAcknowledged)
    .flatMap((call) =>
      [...lostRecords(call, states), ...lostWork(call, final)].map((text) => ({
        invariant: "nothing lost",
        at: call.at,
        text,
      })),
    );
};

function lostRecords(
  call: Call,
  states: readonly (readonly [string, ReadonlyMap<string, string>])[],
): string[] {
  const { operation, enrollment } = call;
  const possible = after[operation];
  if (possible === undefined || enrollment === undefined) return [];
  return states.flatMap(([master, known]) => {
    const state = known.get(enrollment) ?? "unknown";
    return possible.includes(state)
      ? []
      : [`${enrollment}: ${operation} was answered, and it is ${state} for ${master}`];
  });
}

function lostWork({ operation, job, rollout }: Call, final: FinalState): string[] {
  if (operation === "dispatch" && job !== undefined) {
    return Object.entries(final.jobs).flatMap(([master, jobs]) =>
      jobs[job] ? [] : [`${job} was answered, and ${master} does not know it`],
    );
  }
  if (operation !== "rollout" || rollout === undefined) return [];
  return Object.entries(final.rollouts).flatMap(([master, ids]) =>
    ids.includes(rollout) ? [] : [`${rollout} was answered, and ${master} does not know it`],
  );
}
