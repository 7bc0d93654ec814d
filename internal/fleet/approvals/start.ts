import { defined } from "../../base/defined.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import { isId, keyedId } from "../../base/id.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import { type ApprovalsDeps, change } from "./change.ts";
import { callerOf } from "./party.ts";
import { type Approval, type Party, reasonOf } from "./record.ts";
import type { Starter } from "./starters.ts";

/**
 * Starts a request that this master claimed, and notes what came of it.
 *
 * @returns the claimed one when the bus does not answer: the next sweep starts it again
 */
export async function startClaimed(deps: ApprovalsDeps, claimed: Approval): Promise<Approval> {
  const { clock, log } = deps;
  const { id: approval, operation, asker, expiresAt } = claimed;
  let ending: Pick<Approval, "outcome" | "reason" | "job" | "rollout">;
  log.info("starting a request that others agreed to", { approval, operation, operator: asker.name });
  try {
    ending = { outcome: "done", ...madeBy(claimed, await startNow(deps, claimed)) };
  } catch (thrown) {
    const { kind, message } = toSvcError(thrown);
    log.warn("a request that others agreed to failed", { approval, reason: describeError(thrown) });
    const isAway = kind === "storage" || kind === "unavailable";
    if (isAway && clock.now() < expiresAt) return claimed;
    ending = { outcome: "failed", reason: reasonOf(message) };
  }
  return change(deps, approval, (now) => (now.outcome === undefined ? { ...now, ...ending } : now));
}

/** @throws SvcError `bad_request` for an operation that this master does not know */
export function starterOf({ starters }: ApprovalsDeps, { operation }: Approval): Starter {
  const starter = starters.get(operation);
  if (starter !== undefined) return starter;
  throw new SvcError(
    "bad_request",
    `this master does not know ${operation}: ask again when all masters are upgraded`,
  );
}

/** Starts a request in the name of the requester, with the roles that the requester has now. */
async function startNow(deps: ApprovalsDeps, approval: Approval): Promise<unknown> {
  const { id, asker, agreed, requestId, input, startedAt = 0, targets, isOlder } = approval;
  const { content, released } = approval;
  const starter = starterOf(deps, approval);
  // An attacker who controls the bus can put back the record of a request that was started, as if its start had been cut off.
  if (approval.expiresAt <= deps.clock.now()) {
    throw new SvcError("conflict", `the request ${id} expired before it could be started: ask again`);
  }
  assertSigned(asker);
  for (const one of agreed) assertSigned(one);
  const now = deps.rolesNow(asker);
  if ("refused" in now) throw new SvcError("forbidden", `${asker.name} may no longer ask: ${now.refused}`);
  return starter.run(input, {
    caller: callerOf(asker, now.roles),
    ...defined({ requestId }),
    log: deps.log.with({ approval: id }),
    clock: deps.clock,
    gate: deps.gate,
    agreement: {
      approval: id,
      by: agreed.map(({ name }) => name),
      signed: agreed.flatMap(({ name, envelope }) =>
        envelope === undefined ? [] : { operator: name, envelope },
      ),
      startedAt,
      ...defined({ peels: targets, content, released, isOlder }),
      idFor: (prefix) => keyedId(prefix, startedAt, deps.mac("approval-starts", [id, prefix])),
    },
  });
}

/** The ids of what a request started, from the answer that its asker would have got. */
function madeBy({ operation }: Approval, output: unknown): Pick<Approval, "job" | "rollout"> {
  const { jid, id } = Object(output) as Record<string, unknown>;
  if (isIdOf("job", jid)) return { job: jid };
  return operation.startsWith("rollouts.") && isIdOf("rol", id) ? { rollout: id } : {};
}

const isIdOf = (prefix: "job" | "rol", value: unknown): value is string =>
  typeof value === "string" && isId(prefix, value);

/** @throws SvcError `forbidden` for what is not what this operator signed */
function assertSigned({ name, key, subject, envelope }: Party): void {
  if (key === undefined) return;
  if (subject !== undefined && envelope !== undefined) {
    const request = openRequest(envelope);
    if (request.key === key && isSignedFor(subject, request)) return;
  }
  throw new SvcError("forbidden", `the stored request of ${name} is not what was signed: ask again`);
}
