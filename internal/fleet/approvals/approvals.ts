import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import { isId, keyedId, newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { sha256 } from "../../base/sha256.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import type { Bucket } from "../../bus/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import type { Gate, Passenger } from "../operation/mod.ts";
import { describeCaller, type RoleGate, whoCan } from "../roles/mod.ts";
import { callerOf, partyOf } from "./party.ts";
import { type Approval, encodeApproval, type Party, readApproval } from "./record.ts";
import type { Starter, Starters } from "./starters.ts";
import type { ApprovalView } from "./view.ts";

/** A list of them fits into one message. */
const maxWaiting = 200;
const maxOfOne = 20;
const maxBytes = 128 * 1024;
/** A master that said longer ago that it starts a request was killed. */
const claimMs = 15_000;
/** UTF-16 code units. */
export const maxReason = 500;

export interface ApprovalsDeps {
  bucket: Pick<Bucket, "get" | "create" | "update">;
  view: Pick<ApprovalView, "all" | "seen">;
  mac: RecordMac;
  starters: Starters;
  gate: Gate;
  roleGate: Pick<RoleGate, "judge">;
  /** The roles that someone has now, or why they have none any more. */
  rolesNow(party: Party): { roles: readonly string[] } | { refused: string };
  /** Names of the operators who have the role `admin` now. */
  administrators(): readonly string[];
  /** `approvals.ttl`, milliseconds. */
  ttlMs: number;
  clock: Clock;
  random: Random;
  log: Log;
}

/** Requests that wait for other operators. */
export interface Approvals {
  /** Whether requests of this operation can wait. */
  takes(operation: string): boolean;
  /** Keeps a request. @throws SvcError `conflict` when too many wait, `too_large`, `storage` */
  park(
    passenger: Passenger,
    of: { needs: number; rule: string; peels?: readonly string[] },
  ): Promise<WaitingRequest>;
  /** Newest first. @throws SvcError `storage` */
  list(): Promise<Approval[]>;
  /** @throws SvcError `not_found`, `storage` */
  find(id: string): Promise<Approval>;
  /**
   * Agrees to a request, and starts it when that was the last agreement that it needs.
   *
   * @param digest SHA-256 of the signed request that the operator saw, if it says which one
   * @throws SvcError `not_found`; `conflict` when it waits no longer, or is another one; `forbidden` for the requester, for an operator who agreed before, or
   *   may not do the same; `storage`
   */
  approve(id: string, by: Party, digest?: Uint8Array): Promise<Approval>;
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

/** `expired` is not stored: it follows from the time. */
export function stateOf({ state, expiresAt }: Approval, now: number): Approval["state"] | "expired" {
  return state === "waiting" && expiresAt <= now ? "expired" : state;
}

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { bucket, view, mac, starters, clock, random, log } = deps;

  const load = async (id: string) => {
    const entry = isId("apr", id) ? await bucket.get(id) : undefined;
    const approval = entry === undefined ? undefined : readApproval(mac, id, entry.value);
    if (entry === undefined || approval === undefined) {
      throw new SvcError("not_found", "the request does not exist, or ended more than 7 days ago");
    }
    return { approval, revision: entry.revision };
  };
  /** Changes the record by compare-and-swap. */
  const change = (id: string, next: (now: Approval) => Approval) =>
    retryOnConflict(
      async () => {
        const { approval, revision } = await load(id);
        const changed = next(approval);
        if (changed === approval) return approval;
        return (await bucket.update(id, encodeApproval(mac, changed), revision)) === undefined
          ? conflict
          : changed;
      },
      { exhausted: `the request ${id} is being changed by others` },
    );
  const run = async (claimed: Approval): Promise<Approval> => {
    let ending: Pick<Approval, "outcome" | "reason" | "job" | "rollout">;
    log.info("starting a request that others agreed to", {
      approval: claimed.id,
      operation: claimed.operation,
      operator: claimed.asker.name,
    });
    try {
      ending = { outcome: "done", ...madeBy(claimed, await startNow(deps, claimed)) };
    } catch (thrown) {
      const { kind, message } = toSvcError(thrown);
      log.warn("a request that others agreed to failed", {
        approval: claimed.id,
        reason: describeError(thrown),
      });
      // A bus that does not answer: the request is started again, by the next sweep.
      const isAway = kind === "storage" || kind === "unavailable";
      if (isAway && clock.now() < claimed.expiresAt) return claimed;
      ending = { outcome: "failed", reason: reasonOf(message) };
    }
    return change(claimed.id, (now) => (now.outcome === undefined ? { ...now, ...ending } : now));
  };

  return {
    takes: (operation) => starters.get(operation) !== undefined,
    async park({ operation, input, caller, requestId }, { needs, rule, peels }) {
      if (caller.kind !== "operator") throw new SvcError("internal", "a request that no operator asked for");
      const now = clock.now();
      const asker = partyOf(caller, now);
      const waiting = (await view.all()).filter((one) => stateOf(one, now) === "waiting");
      const own = waiting.filter((one) => one.asker.person === asker.person);
      if (waiting.length >= maxWaiting || own.length >= maxOfOne) {
        throw new SvcError(
          "conflict",
          `${own.length} requests of ${asker.person} and ${waiting.length} in all wait already: deny those that nobody needs (svc approval list)`,
        );
      }
      const approval: Approval = {
        id: newId("apr", now, random),
        ...{ operation, rule, needs, asker, agreed: [], state: "waiting", expiresAt: now + deps.ttlMs },
        input: decode(encode(input as Plain)),
        ...defined({ requestId, targets: peels }),
      };
      const value = encodeApproval(mac, approval);
      if (value.length > maxBytes) {
        throw new SvcError("too_large", "the request is too large to wait for others: at most 128 KiB");
      }
      if ((await bucket.create(approval.id, value)) === undefined) {
        throw new SvcError("conflict", `the request ${approval.id} exists already`);
      }
      log.info("a request waits for others", {
        approval: approval.id,
        operation,
        operator: asker.name,
        needs,
      });
      return new WaitingRequest(approval.id, needs);
    },
    list: view.all,
    find: async (id) => (await load(id)).approval,
    async approve(id, by, digest) {
      const { approval } = await load(id);
      assertWaiting(approval, clock.now());
      assertSeen(approval, digest);
      assertOther(approval, by);
      const starter = starters.get(approval.operation);
      if (starter === undefined) throw unknownOperation(approval);
      await assertMay(deps, starter, approval, by);
      const agreed = await change(id, (now) => {
        assertWaiting(now, clock.now());
        assertOther(now, by);
        return { ...now, agreed: [...now.agreed, by] };
      });
      log.info("an operator agreed to a request", { approval: id, operator: by.name });
      // Those who agreed before may have left, or lost the role, meanwhile.
      const standing = await stillAgreed(deps, starter, agreed);
      if (standing.length < agreed.needs) return agreed;
      const at = clock.now();
      let isOurs = false;
      const claimed = await change(id, (now) => {
        isOurs = stateOf(now, at) === "waiting";
        return isOurs ? { ...now, agreed: standing, state: "started", startedAt: at, claimedAt: at } : now;
      });
      return isOurs ? run(claimed) : claimed;
    },
    async deny(id, by, why = "") {
      const reason = reasonOf(why.trim());
      const denied = await change(id, (now) => {
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
        const isOrphan = (found: Approval) =>
          found.state === "started" && found.outcome === undefined && (found.claimedAt ?? 0) + claimMs <= now;
        if (!isOrphan(one)) continue;
        let isOurs = false;
        const claimed = await change(one.id, (found) => {
          isOurs = isOrphan(found);
          return isOurs ? { ...found, claimedAt: now } : found;
        });
        if (!isOurs) continue;
        log.warn("continuing a request that another master had begun to start", { approval: one.id });
        await run(claimed);
      }
    },
  };
}

/** What is stored must be read back as it was written: half of a character is not. */
const reasonOf = (text: string): string => text.slice(0, maxReason).toWellFormed();

/** Starts a request in the name of the requester, with the roles that the requester has now. */
async function startNow(deps: ApprovalsDeps, approval: Approval): Promise<unknown> {
  const { id, operation, asker, agreed, requestId, input, startedAt = 0, targets } = approval;
  const starter = deps.starters.get(operation);
  if (starter === undefined) throw unknownOperation(approval);
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
      ...defined({ peels: targets }),
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

async function stillAgreed(deps: ApprovalsDeps, starter: Starter, approval: Approval): Promise<Party[]> {
  const standing: Party[] = [];
  for (const one of approval.agreed) {
    const now = deps.rolesNow(one);
    if ("refused" in now) continue;
    const { allowed } = await judge(deps, starter, approval, now.roles);
    if (allowed) standing.push(one);
  }
  return standing;
}

const judge = (
  deps: ApprovalsDeps,
  { scope, touched }: Starter,
  { input, targets }: Approval,
  roles: readonly string[],
) =>
  deps.roleGate.judge(roles, {
    scope,
    input,
    touched: targets === undefined ? touched(input) : { peels: { peels: targets } },
  });

/** @throws SvcError `forbidden` for a caller who may not do the same */
async function assertMay(
  deps: ApprovalsDeps,
  starter: Starter,
  approval: Approval,
  by: Party,
): Promise<void> {
  const judged = await judge(deps, starter, approval, by.roles);
  if (judged.allowed) return;
  throw new SvcError(
    "forbidden",
    `${describeCaller(by.name, by.roles)} cannot agree, as none of their roles allows the same: ${judged.reason}${whoCan(judged.holders, deps.administrators())}`,
  );
}

function assertWaiting(approval: Approval, now: number): void {
  const state = stateOf(approval, now);
  if (state === "waiting") return;
  const how = {
    started: "was started",
    denied: `was denied by ${approval.deniedBy}${approval.reason === undefined ? "" : `: ${approval.reason}`}`,
    expired: `expired at ${rfc3339(approval.expiresAt)}`,
  }[state];
  throw new SvcError("conflict", `the request ${approval.id} ${how}`);
}

/** @throws SvcError `conflict` where who agrees saw another request */
function assertSeen({ id, asker: { envelope } }: Approval, digest: Uint8Array | undefined): void {
  if (digest === undefined) return;
  if (envelope !== undefined && Buffer.from(sha256(envelope)).equals(digest)) return;
  throw new SvcError("conflict", `${id} is another request than the one that was shown: show it again`);
}

/** @throws SvcError `forbidden` */
function assertOther({ asker, agreed }: Approval, by: Party): void {
  const isSame = (one: Party) => one.person === by.person || (one.key !== undefined && one.key === by.key);
  if (isSame(asker)) {
    throw new SvcError(
      "forbidden",
      `${by.person} asked for this, and another operator must agree: ask one whose role allows the same`,
    );
  }
  if (agreed.some(isSame)) throw new SvcError("forbidden", `${by.person} agreed already`);
}

const unknownOperation = ({ operation }: Approval) =>
  new SvcError(
    "bad_request",
    `this master does not know ${operation}: ask again when all masters are upgraded`,
  );
