import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import type { Content } from "../../wire/content.ts";
import type { Passenger } from "../operation/mod.ts";
import { type ApprovalsDeps, change, claim, load } from "./change.ts";
import { assertMay, assertSeen, assertWaiting, type Seen, stillAgreed } from "./judge.ts";
import { partyOf } from "./party.ts";
import { assertOther } from "./persons.ts";
import { type Approval, encodeApproval, type Party, reasonOf, stateOf } from "./record.ts";
import { startClaimed, starterOf } from "./start.ts";

/** A list of them fits into one message. */
const maxWaiting = 200;
const maxOfOne = 20;
const maxBytes = 128 * 1024;
/** A master that said longer ago that it starts a request was killed. */
const claimMs = 15_000;

/** Requests that wait for other operators. */
export interface Approvals {
  /** Whether requests of this operation can wait. */
  takes(operation: string): boolean;
  /** Keeps a request. @throws SvcError `conflict` when too many wait, `too_large`, `storage` */
  park(
    passenger: Passenger,
    of: {
      needs: number;
      rule: string;
      peels?: readonly string[];
      content?: Content;
      released?: Content;
      isOlder?: boolean;
    },
  ): Promise<WaitingRequest>;
  /** Newest first. @throws SvcError `storage` */
  list(): Promise<Approval[]>;
  /** The files of the tree that requests are about which have not ended. @throws SvcError `storage` */
  contents(): Promise<Content[]>;
  /** @throws SvcError `not_found`, `storage` */
  find(id: string): Promise<Approval>;
  /**
   * Agrees to a request, and starts it when that was the last agreement that it needs.
   *
   * @param seen what the operator saw, where it reports that: the signed request, and which of its ids
   * @throws SvcError `not_found`; `conflict` when it waits no longer, or is another one; `forbidden` for the requester, for an operator who agreed before, or
   *   may not do the same; `storage`
   */
  approve(id: string, by: Party, seen?: Seen): Promise<Approval>;
  /**
   * Ends a request that waits.
   *
   * @param why for the requester; shortened to 500 characters
   * @throws SvcError `not_found`, `conflict`, `storage`
   */
  deny(id: string, by: Party, why?: string): Promise<Approval>;
  /** Continues what a master that was killed had begun. */
  sweep(): Promise<void>;
}

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { view, starters, clock, log } = deps;
  return {
    takes: (operation) => starters.get(operation) !== undefined,
    park: (passenger, of) => park(deps, passenger, of),
    list: view.all,
    contents: async () => contentsOf(await view.all(), clock.now()),
    find: async (id) => (await load(deps, id)).approval,
    approve: (id, by, seen = {}) => approve(deps, id, by, seen),
    async deny(id, by, why = "") {
      const reason = reasonOf(why.trim());
      const denied = await change(deps, id, (now) => {
        assertWaiting(now, clock.now());
        return { ...now, state: "denied", deniedBy: by.name, ...(reason === "" ? {} : { reason }) };
      });
      log.info("an operator denied a request", { approval: id, operator: by.name });
      return denied;
    },
    async sweep() {
      // What was not seen yet began a moment ago; it is read again before it is changed.
      for (const one of view.seen()) {
        const now = clock.now();
        const isOrphan = ({ state, outcome, claimedAt = 0 }: Approval) =>
          state === "started" && outcome === undefined && claimedAt + claimMs <= now;
        if (!isOrphan(one)) continue;
        const { approval, isOurs } = await claim(deps, one.id, isOrphan, { claimedAt: now });
        if (!isOurs) continue;
        log.warn("continuing a request that another master had begun to start", { approval: one.id });
        await startClaimed(deps, approval);
      }
    },
  };
}

/** A request that was started needs its files until what it started names them. */
function contentsOf(all: readonly Approval[], now: number): Content[] {
  return all.flatMap((one) => {
    const state = stateOf(one, now);
    const isOpen = state === "waiting" || (state === "started" && one.outcome === undefined);
    return isOpen ? [one.content ?? [], one.released ?? []].flat() : [];
  });
}

async function park(
  deps: ApprovalsDeps,
  { operation, input, caller, requestId }: Passenger,
  { needs, rule, peels, content, released, isOlder }: Parameters<Approvals["park"]>[1],
): Promise<WaitingRequest> {
  const { clock, random, mac, bucket, log, ttlMs } = deps;
  if (caller.kind !== "operator") throw new SvcError("internal", "a request that no operator asked for");
  const now = clock.now();
  const asker = partyOf(caller, now);
  await assertRoom(deps, asker, now);
  const approval: Approval = {
    id: newId("apr", now, random),
    ...{ operation, rule, needs, asker, agreed: [], state: "waiting", expiresAt: now + ttlMs },
    input: decode(encode(input as Plain)),
    ...defined({ requestId, targets: peels, content, released, isOlder }),
  };
  const { id } = approval;
  const value = encodeApproval(mac, approval);
  if (value.length > maxBytes) {
    throw new SvcError("too_large", "the request is too large to wait for others: at most 128 KiB");
  }
  if ((await bucket.create(id, value)) === undefined) {
    throw new SvcError("conflict", `the request ${id} exists already`);
  }
  log.info("a request waits for others", { approval: id, operation, operator: asker.name, needs });
  return new WaitingRequest(id, needs);
}

/** @throws SvcError `conflict` when too many wait */
async function assertRoom({ view }: ApprovalsDeps, { person }: Party, now: number): Promise<void> {
  const waiting = (await view.all()).filter((one) => stateOf(one, now) === "waiting");
  const own = waiting.filter(({ asker }) => asker.person === person);
  if (waiting.length < maxWaiting && own.length < maxOfOne) return;
  throw new SvcError(
    "conflict",
    `${own.length} requests of ${person} and ${waiting.length} in all wait already: deny those that nobody needs (svc approval list)`,
  );
}

async function approve(deps: ApprovalsDeps, id: string, by: Party, seen: Seen): Promise<Approval> {
  const { clock, log } = deps;
  const { approval } = await load(deps, id);
  assertWaiting(approval, clock.now());
  assertSeen(approval, seen);
  assertOther(deps, approval, by);
  const starter = starterOf(deps, approval);
  await assertMay(deps, starter, approval, by);
  const agreed = await change(deps, id, (now) => {
    assertWaiting(now, clock.now());
    assertOther(deps, now, by);
    return { ...now, agreed: [...now.agreed, by] };
  });
  log.info("an operator agreed to a request", { approval: id, operator: by.name });
  const standing = await stillAgreed(deps, starter, agreed);
  if (standing.length < agreed.needs) return agreed;
  const at = clock.now();
  const started = { agreed: standing, state: "started", startedAt: at, claimedAt: at } as const;
  const claimed = await claim(deps, id, (now) => stateOf(now, at) === "waiting", started);
  return claimed.isOurs ? startClaimed(deps, claimed.approval) : claimed.approval;
}
