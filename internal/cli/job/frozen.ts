import { defined } from "../../base/defined.ts";
import { toSvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { JobRequest } from "../../fleet/jobs/mod.ts";
import { merkleTree } from "../../identity/merkle/mod.ts";
import { withNearestPeel } from "../nobody.ts";
import { approvalsFor, type Question } from "../roles/may-do.ts";
import { resolvePeels } from "./resolve.ts";

/** How often the peels that match are looked up again when they change in the same moment. */
const maxAttempts = 3;

type Frozen = Pick<JobRequest, "target" | "targets" | "targets_digest" | "approvals">;

/**
 * Asks for something that runs on peels. The signer states which peels it is for and how many others must agree, so
 * that no master can add one or leave one out.
 *
 * @param question what a role must allow for it, apart from the peels
 * @throws SvcError what `send` throws
 */
export async function requestFrozen<Request extends Frozen, T>(
  bus: Bus,
  request: Request,
  question: Question,
  send: (request: Request) => Promise<T>,
): Promise<T> {
  const { target, targets } = request;
  if (bus.requester === undefined) return withNearestPeel(bus, target, () => send(request));
  for (let attempt = 1; ; attempt++) {
    const [peels, approvals] = await Promise.all([
      targets ?? resolvePeels(bus, target ?? "").then((found) => found.map(({ peel_id }) => peel_id)),
      approvalsFor(bus, { ...question, ...defined({ target, targets }) }),
    ]);
    const { root } = merkleTree(peels);
    try {
      return await send({ ...request, targets_digest: root, ...(approvals > 0 ? { approvals } : {}) });
    } catch (thrown) {
      const hasChanged = toSvcError(thrown).kind === "invalid_transition" && targets === undefined;
      if (!hasChanged || attempt === maxAttempts) throw thrown;
    }
  }
}
