import * as v from "valibot";
import { SvcError, toSvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { type Content, describeEnd, describeSubjects, type End } from "../audit/mod.ts";
import { type Ending, nameOfCaller, type Passenger } from "../operation/mod.ts";
import type { MeantFiles } from "../releases/mod.ts";

const maxReason = 500;
const maxName = 256;

/** Chunks of an upload. Nothing is decided before its commit, which has an entry. */
const bulk: ReadonlySet<string> = new Set(["binaries.put"]);

/** Reads that show secrets, or much of what masters know, are recorded as decisions are. */
const recordedReads: ReadonlySet<string> = new Set([
  ...["settings.reveal", "settings.reveal-explained", "states.plan", "states.send-plan"],
]);

/** Operations that make the same thing when they are repeated: its id follows from the request. */
const repeatable: ReadonlySet<string> = new Set(["jobs.create"]);

export interface ContentDeps {
  /** Whether the arguments of a function contain no secrets, so that they are recorded as they are. */
  isSafe(functionName: string): boolean;
}

/** Whether the audit has an entry for a request that passes. */
export const isRecorded = ({
  kind,
  operation,
  input,
}: Pick<Passenger, "kind" | "operation" | "input">): boolean =>
  kind === "read" ? recordedReads.has(operation) && !v.is(chunk, input) : !bulk.has(operation);

/** A part of a tree, whose upload has an entry when it begins. */
const chunk = v.object({ upload: v.string() });

/**
 * The entry of a request, without its outcome.
 *
 * @param files the state files that it was accepted for
 */
export function contentOf(
  passenger: Passenger,
  { isSafe }: ContentDeps,
  files?: MeantFiles,
): Omit<Content, "at" | "master" | "outcome" | "reason"> {
  const { caller, operation, input, requestId = "" } = passenger;
  const operator = caller.kind === "operator" ? caller : undefined;
  return {
    operator: (nameOfCaller(caller) ?? caller.kind).slice(0, maxName).toWellFormed(),
    key: operator?.key ?? "",
    via: caller.door,
    action: operation,
    subjects: describeSubjects(passenger, isSafe, files),
    requestId,
    requestDigest: sha256(operator?.signed?.envelope ?? encode(input)),
  };
}

/** How a request ended, as its second entry says it. */
export function endOf(passenger: Passenger, ending: Ending): End {
  return ending.outcome === "done"
    ? { outcome: "done", subjects: describeEnd(passenger, ending.output) }
    : { outcome: "failed", reason: reasonOf(ending.error) };
}

/** The nonce of a signed request that must not happen twice. What others agreed to is started until it has begun. */
export function nonceOf({ caller, operation, agreement }: Passenger): string | undefined {
  const nonce = caller.kind === "operator" && agreement === undefined ? caller.signed?.nonce : undefined;
  return nonce === undefined || repeatable.has(operation) ? undefined : Buffer.from(nonce).toString("hex");
}

/** The message that the caller got; of a bug only that there was one. */
export function reasonOf(thrown: unknown): string {
  const known = thrown instanceof SvcError ? thrown : toSvcError(thrown);
  return known.message.slice(0, maxReason).toWellFormed();
}
