import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { WaitingRequest } from "../../base/waiting.ts";
import { type Caller, type Ending, type Gate, nameOfCaller, type Passenger } from "../operation/mod.ts";
import type { AuditWriter } from "./append.ts";
import type { Content, Way } from "./entry.ts";
import type { Recorder } from "./recorder.ts";
import { describeEnd, describeSubjects } from "./subjects.ts";

/** Refusals that are recorded of one operator in a minute: a client in a loop must not fill the audit. */
const refusalsPerMinute = 60;
const minuteMs = 60_000;
/** How many operators are counted at the same time. */
const mostCounted = 1_000;
const longestReason = 500;
const longestName = 256;

/** Chunks of an upload. Nothing is decided before its commit, which has an entry. */
const bulk: ReadonlySet<string> = new Set(["binaries.put"]);

/** What only reads, and is recorded as a decision is: it shows secrets. */
const readsSecrets: ReadonlySet<string> = new Set(["settings.reveal", "settings.reveal-explained"]);

/** Keeps a request until others agree. @throws SvcError `storage`, `conflict` */
export type Parking = () => Promise<WaitingRequest>;

/** What makes the same thing again when it is asked again: its id follows from the request. */
const sameAgain: ReadonlySet<string> = new Set(["jobs.create"]);

export interface AuditGateDeps {
  /**
   * Judges a request.
   *
   * @returns how to keep it where it must wait for others
   * @throws SvcError `forbidden` or `unauthorized`
   */
  authorize(passenger: Passenger): Promise<Parking | undefined>;
  audit: Pick<AuditWriter, "append">;
  recorder: Pick<Recorder, "begin">;
  /** Whether the arguments of a function contain no secrets, so that they are recorded as they are. */
  isSafe(functionName: string): boolean;
  clock: Clock;
  log: Log;
}

/**
 * The gate that records. A request that `authorize` refuses has an entry. So has every request that changes
 * something, decides or shows secrets, before it runs, and another one when it has ended. Without the first one it does not run.
 */
export function createAuditGate(deps: AuditGateDeps): Gate {
  const { authorize, audit, recorder, clock, log } = deps;
  const refusals = createBoundedMap<{ since: number; count: number }>(mostCounted);

  const mayRecord = (operator: string): boolean => {
    const now = clock.monotonic();
    const known = refusals.get(operator);
    const window = known !== undefined && now - known.since < minuteMs ? known : { since: now, count: 0 };
    window.count++;
    refusals.set(operator, window);
    return window.count <= refusalsPerMinute;
  };
  const recordRefusal = async (passenger: Passenger, thrown: unknown) => {
    const content = contentOf(passenger, deps);
    if (!mayRecord(content.operator)) {
      log.warn("a refusal was not recorded: this operator has too many", {
        operator: content.operator,
        operation: passenger.operation,
      });
      return;
    }
    try {
      await audit.append({ ...content, outcome: "refused", reason: reasonOf(thrown) });
    } catch (failure) {
      log.error("a refusal was not recorded", {
        operator: content.operator,
        operation: passenger.operation,
        reason: describeError(failure),
      });
    }
  };

  const parked = async (passenger: Passenger, park: Parking) => {
    const content = { ...contentOf(passenger, deps), action: "approvals.park" };
    const end = await recorder.begin(content, nonceOf(passenger));
    let waiting: WaitingRequest;
    try {
      waiting = await park();
    } catch (thrown) {
      await end({ outcome: "failed", reason: reasonOf(thrown) });
      throw thrown;
    }
    await end({ outcome: "done", subjects: { approval: waiting.approval, request: passenger.operation } });
    return waiting;
  };

  return {
    async enter(passenger) {
      let park: Parking | undefined;
      try {
        park = await authorize(passenger);
      } catch (thrown) {
        await recordRefusal(passenger, thrown);
        throw thrown;
      }
      if (park !== undefined) throw await parked(passenger, park);
      const { kind, operation } = passenger;
      const isRecorded = kind === "read" ? readsSecrets.has(operation) : !bulk.has(operation);
      if (!isRecorded) return async () => {};
      const end = await recorder.begin(contentOf(passenger, deps), nonceOf(passenger));
      return (ending: Ending) =>
        ending.outcome === "done"
          ? end({ outcome: "done", subjects: describeEnd(passenger, ending.output) })
          : end({ outcome: "failed", reason: reasonOf(ending.error) });
    },
  };
}

function contentOf(
  passenger: Passenger,
  { isSafe }: Pick<AuditGateDeps, "isSafe">,
): Omit<Content, "at" | "master" | "outcome" | "reason"> {
  const { caller, operation, input, requestId = "" } = passenger;
  const operator = caller.kind === "operator" ? caller : undefined;
  return {
    operator: (nameOfCaller(caller) ?? caller.kind).slice(0, longestName).toWellFormed(),
    key: operator?.key ?? "",
    via: wayOf(caller),
    action: operation,
    subjects: describeSubjects(passenger, isSafe),
    requestId,
    requestDigest: sha256(operator?.signed?.envelope ?? encode(input)),
  };
}

/** Of a signed request that must not happen twice. What others agreed to is started until it has begun. */
function nonceOf({ caller, operation, agreement }: Passenger): string | undefined {
  const nonce = caller.kind === "operator" && agreement === undefined ? caller.signed?.nonce : undefined;
  return nonce === undefined || sameAgain.has(operation) ? undefined : Buffer.from(nonce).toString("hex");
}

function wayOf({ door }: Caller): Way {
  return door;
}

/** What a person was told: of a bug only that there was one. */
function reasonOf(thrown: unknown): string {
  const known = thrown instanceof SvcError ? thrown : toSvcError(thrown);
  return known.message.slice(0, longestReason).toWellFormed();
}
