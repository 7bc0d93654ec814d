import { defined } from "../../base/defined.ts";
import { toSvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { JobRequest } from "../../fleet/jobs/mod.ts";
import { filesOfCall } from "../../host/modules/mod.ts";
import { merkleTree } from "../../identity/merkle/mod.ts";
import { withNearestPeel } from "../nobody.ts";
import { approvalsFor, type Question } from "../roles/may-do.ts";
import { type CalledFunction, resolveMeaning } from "./resolve.ts";

/** How often a request is sent in all, when its peels or files change in the same moment. */
const maxAttempts = 3;

type Frozen = CalledFunction &
  Pick<JobRequest, "target" | "targets" | "targets_digest" | "snapshot" | "unreleased" | "approvals"> & {
    check?: CalledFunction | undefined;
  };

/**
 * Asks for something that runs on peels. The signer states which peels it is for, which state files it uses and how
 * many others must agree, so that no master can add a peel, leave one out or choose other files.
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
  let called = usesFiles(request);
  for (let attempt = 1; ; attempt++) {
    try {
      const [{ peels, snapshot }, approvals] = await Promise.all([
        meaningOf(bus, request, called),
        approvalsFor(bus, { ...question, ...defined({ target, targets }) }),
      ]);
      const { root } = merkleTree(peels);
      const frozen = { targets_digest: root, ...(approvals > 0 ? { approvals } : {}) };
      return await send({ ...request, ...frozen, ...defined({ snapshot }) });
    } catch (thrown) {
      if (attempt === maxAttempts) throw thrown;
      if (called !== undefined && isOfEarlierMaster(thrown)) called = undefined;
      else if (!hasChanged(thrown) || (targets !== undefined && called === undefined)) throw thrown;
    }
  }
}

/** The function of a request whose state files a master names: its own, or that of its check. */
function usesFiles({ function: name, args, check, snapshot }: Frozen): CalledFunction | undefined {
  if (snapshot !== undefined) return undefined;
  if (filesOfCall(name, args ?? {}) !== undefined) return { function: name, args };
  if (check === undefined || filesOfCall(check.function, check.args ?? {}) === undefined) return undefined;
  return { function: check.function, args: check.args };
}

/** What a request means now: its peels, and the digest of its state files if it uses any. */
async function meaningOf(
  bus: Bus,
  { target = "", targets }: Frozen,
  called: CalledFunction | undefined,
): Promise<{ peels: readonly string[]; snapshot?: Uint8Array }> {
  if (targets !== undefined && called === undefined) return { peels: targets };
  // Peels that are listed are what they are; which files they run depends on all of them.
  const { peels, snapshot } = await resolveMeaning(bus, targets ?? target, called);
  return { peels: targets ?? peels.map(({ peel_id }) => peel_id), ...defined({ snapshot }) };
}

const hasChanged = (thrown: unknown) => {
  const { kind } = toSvcError(thrown);
  // Masters of the version before answer the second one.
  return kind === "conflict" || kind === "invalid_transition";
};

/** Masters of the version before know no digest of files, and name the field that they do not know. */
const isOfEarlierMaster = (thrown: unknown) => {
  const { kind, message } = toSvcError(thrown);
  return kind === "bad_request" && /^unknown key "(?:function|args|snapshot)"/.test(message);
};
