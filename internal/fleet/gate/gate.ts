import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { WaitingRequest } from "../../base/waiting.ts";
import type { Content } from "../../wire/content.ts";
import type { Approvals } from "../approvals/mod.ts";
import type { AuditWriter, Recorder } from "../audit/mod.ts";
import type { Ending, Gate, Passenger } from "../operation/mod.ts";
import type { MeantFiles, RequestForFiles } from "../releases/mod.ts";
import { describeCaller, filesOf, type RoleGate, whoCan } from "../roles/mod.ts";
import type { Target } from "../targeting/mod.ts";
import { assertAgreed, requestedApprovals } from "./agreement.ts";
import { type ContentDeps, contentOf, endOf, isRecorded, nonceOf, reasonOf } from "./entry.ts";
import { assertSameFiles } from "./files.ts";
import { createRefusalRecords } from "./refusals.ts";

export interface GateDeps extends ContentDeps {
  roles: Pick<RoleGate, "authorize">;
  /** Keeps requests that wait for others; `undefined` until everything that they can start is known. */
  approvals(): Pick<Approvals, "takes" | "park"> | undefined;
  /** @returns sorted encoded peel ids of members @throws SvcError `bad_request`, `unavailable`, `storage` */
  resolve(target: Target): Promise<string[]>;
  /** The files that a request means now. @throws SvcError `not_found`, `unavailable` */
  resolveFiles(of: RequestForFiles): Promise<MeantFiles>;
  /** @throws SvcError `not_found` for files that are no longer published, `unavailable` */
  assertPublished(content: Content): Promise<void>;
  /** Names of the operators who have the role `admin` now. */
  administrators(): readonly string[];
  audit: Pick<AuditWriter, "append">;
  recorder: Pick<Recorder, "begin">;
  clock: Clock;
  log: Log;
}

/** What becomes of a request that the roles allow: it runs, or it is kept until others agree. */
type Park = (() => Promise<WaitingRequest>) | undefined;

interface Admitted {
  park?: Park;
  /** The files of the tree that it runs, if it runs any. */
  files?: MeantFiles | undefined;
}

/**
 * The one gate before every operation, whichever door it comes through: roles, agreement of others, audit. A request
 * that changes something, decides or shows secrets has an entry before it runs and another one when it has ended;
 * without the first one it does not run. A refused request has one.
 */
export function createGate(deps: GateDeps): Gate {
  const refusals = createRefusalRecords(deps);
  return {
    async enter(passenger) {
      let admitted: Admitted;
      try {
        admitted = await admit(passenger, deps);
      } catch (thrown) {
        await refusals.add(passenger, thrown);
        throw thrown;
      }
      const { park, files } = admitted;
      const entry = () => contentOf(passenger, deps, files);
      if (park !== undefined) throw await parked(passenger, park, entry(), deps);
      if (!isRecorded(passenger)) return async () => {};
      const end = await deps.recorder.begin(entry(), nonceOf(passenger));
      return (ending: Ending) => end(endOf(passenger, ending));
    },
    refuse: (stranger, thrown) => refusals.addStranger(stranger, thrown),
  };
}

/** @throws SvcError `forbidden`, `conflict`, `bad_request`, `unavailable`, `storage` */
async function admit(passenger: Passenger, deps: GateDeps): Promise<Admitted> {
  const { agreement } = passenger;
  let peels: readonly string[] | undefined;
  const {
    approvals: byRoles,
    rule,
    isOlder,
  } = await deps.roles.authorize({
    ...passenger,
    ...(agreement?.peels === undefined ? {} : { touched: { peels: { peels: agreement.peels } } }),
    ...defined({ isOlder: agreement?.isOlder }),
    fix(fixed) {
      peels = fixed;
      passenger.fix?.(fixed);
    },
  });
  if (agreement !== undefined) {
    assertAgreed(agreement, byRoles, peels);
    const { content, released } = agreement;
    if (content === undefined) return {};
    // What waits is stored apart from what was signed.
    assertSameFiles(filesOf(passenger) ?? content, content);
    await deps.assertPublished(content);
    const files = { content, ...defined({ released }) };
    passenger.settle?.(files);
    return { files };
  }
  const files = await resolveFiles(passenger, deps, async () => {
    peels ??= await resolvePeels(passenger, deps);
    return peels;
  });
  if (files !== undefined) passenger.settle?.(files);
  const needs = Math.max(byRoles, requestedApprovals(passenger));
  if (needs === 0) return { files };
  const reason = rule ?? "the request asks for it";
  const approvals = deps.approvals();
  if (!approvals?.takes(passenger.operation)) throw cannotWait(passenger, needs, reason, deps);
  const waiting = { needs, rule: reason, ...files, ...defined({ peels, isOlder }) };
  return { park: () => approvals.park(passenger, waiting), files };
}

/** What its environment means now: what it starts uses these files. */
async function resolveFiles(
  passenger: Passenger,
  deps: Pick<GateDeps, "resolveFiles">,
  peels: RequestForFiles["peels"],
): Promise<MeantFiles | undefined> {
  const requested = filesOf(passenger);
  if (requested === undefined) return undefined;
  const { caller } = passenger;
  const { snapshot: _, isUnreleased = false, ...wanted } = requested;
  const isSigned = caller.kind === "operator" && caller.signed !== undefined;
  // Without a signature nobody says that these files may run.
  const found = await deps.resolveFiles({ wanted, peels, isSigned, isUnreleased: isSigned && isUnreleased });
  assertSameFiles(requested, found.content);
  return found;
}

/** The peels of a request whose roles were not judged: it runs on these, and on no others that match a moment later. */
async function resolvePeels(
  { touched, fix }: Pick<Passenger, "touched" | "fix">,
  { resolve }: Pick<GateDeps, "resolve">,
): Promise<readonly string[]> {
  const peels = "peels" in touched ? await resolve(touched.peels) : [];
  fix?.(peels);
  return peels;
}

function cannotWait(
  { caller, operation }: Passenger,
  needs: number,
  reason: string,
  { administrators }: Pick<GateDeps, "administrators">,
): SvcError {
  const others = needs === 1 ? "another operator" : `${needs} other operators`;
  const name = caller.kind === "operator" ? describeCaller(caller.name, caller.roles ?? []) : caller.kind;
  return new SvcError(
    "forbidden",
    `${name} may not do this alone: it needs the agreement of ${others} (${reason}), and ${operation} cannot wait for it${whoCan(["admin"], administrators())}`,
  );
}

async function parked(
  passenger: Passenger,
  park: NonNullable<Park>,
  entry: ReturnType<typeof contentOf>,
  deps: GateDeps,
): Promise<WaitingRequest> {
  const content = { ...entry, action: "approvals.park" };
  const end = await deps.recorder.begin(content, nonceOf(passenger));
  let waiting: WaitingRequest;
  try {
    waiting = await park();
  } catch (thrown) {
    await end({ outcome: "failed", reason: reasonOf(thrown) });
    throw thrown;
  }
  await end({ outcome: "done", subjects: { approval: waiting.approval, request: passenger.operation } });
  return waiting;
}
