import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { decode, encode, type Plain } from "../base/msgpack.ts";
import { traceparentOf } from "../base/trace.ts";
import type { ProofStep } from "../identity/merkle/mod.ts";
import { type Content, content } from "./content.ts";

/** A function with its arguments, as in a dispatch command or in a schedule. */
export interface Call {
  /** `module.function`. */
  function: string;
  args: Readonly<Record<string, Plain>>;
  /** Whether someone follows what it writes. */
  follow?: true;
  /**
   * Whether masters send its command again until they know that its return is stored. Then the return of a quick
   * function needs no confirmation.
   */
  resends?: true;
  /** The curve key of the operator who sees what its return hides, `X…`. */
  sealTo?: string;
  /** The files of the tree that it uses: exactly these, whatever is in force when it runs. */
  content?: Content;
  /** The release of these files, for a peel that runs released files only. */
  release?: ProvenRelease;
}

/** A release with the records that prove who signed it, as they are stored. */
export interface ProvenRelease {
  bytes: Uint8Array;
  records: readonly Uint8Array[];
}

const schema = v.object({
  function: v.string(),
  args: v.record(
    v.string(),
    v.custom<Plain>(() => true),
  ),
  // A master may say anything else in a later version.
  follow: v.fallback(v.optional(v.literal(true)), undefined),
  resends: v.fallback(v.optional(v.literal(true)), undefined),
  seal_to: v.fallback(v.optional(v.string()), undefined),
  content: v.optional(content.read),
});

/** What proves to a peel that an operator requested a command; other peels ignore it. */
export interface Evidence {
  /** The envelope that the operator signed. */
  request: Uint8Array;
  /** That the peel is among the signed targets; none for a stop. */
  proof?: readonly ProofStep[];
  /** The record of the operator, then that of each signer, up to one that an administrator signed. */
  records: readonly Uint8Array[];
  /** The agreements of others, each with the records of its approver. */
  approvals?: readonly { request: Uint8Array; records: readonly Uint8Array[] }[];
  /** Of a rollout: the command is the check of a wave. */
  step?: "check";
}

/** How many others can be required to agree to a request. */
export const maxApprovals = 16;

/**
 * @param requestId the ID of the request, for the logs of the peel
 * @param traceparent the span that the work of the peel is part of
 */
export function encodeCall(
  { function: name, args, follow, resends, sealTo, content: files, release }: Call,
  requestId?: string,
  evidence?: Evidence,
  traceparent?: string,
): Uint8Array {
  const released = { release: release?.bytes, release_records: release && [...release.records] };
  const given = defined({
    ...{ follow, resends, seal_to: sealTo },
    ...{ content: files && content.write(files), ...released },
  });
  return encode({ function: name, args, ...given, request_id: requestId, traceparent, ...evidence });
}

/** The span that the work of a command is part of; malformed ones count as absent. */
export function readTrace(body: Uint8Array): string | undefined {
  try {
    const value = decode(body);
    return typeof value === "object" && value !== null && "traceparent" in value
      ? traceparentOf(value.traceparent)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The body of a stop command. @param requestId the ID of the request */
export function encodeStop(requestId: string | undefined, evidence?: Evidence): Uint8Array {
  if (requestId === undefined && evidence === undefined) return new Uint8Array();
  return encode({ request_id: requestId, ...evidence });
}

/** @throws when the bytes are not a call */
export function decodeCall(bytes: Uint8Array): Call {
  const { function: name, args, seal_to: sealTo, ...more } = v.parse(schema, decode(bytes));
  return { function: name, args, ...defined({ ...more, sealTo }) };
}

const bytes = v.instance(Uint8Array);
const records = v.optional(v.pipe(v.array(bytes), v.maxLength(8)), []);
const evidence = v.object({
  request: v.optional(bytes),
  proof: v.optional(
    v.pipe(v.array(v.object({ side: v.picklist(["l", "r"]), hash: bytes })), v.maxLength(64)),
  ),
  records,
  approvals: v.optional(v.pipe(v.array(v.object({ request: bytes, records })), v.maxLength(maxApprovals))),
  step: v.optional(v.literal("check")),
});

/**
 * Reads the evidence of a command.
 *
 * @returns `undefined` when it has none
 * @throws when it is malformed
 */
export function decodeEvidence(body: Uint8Array): Evidence | undefined {
  if (body.length === 0) return undefined;
  const { request, records, ...more } = v.parse(evidence, decode(body));
  return request === undefined ? undefined : { request, records, ...defined(more) };
}

const released = v.object({ release: v.optional(bytes), release_records: records, records });

/**
 * The release of a command, and all records of operators in it, those of its evidence included.
 *
 * @throws when they are malformed
 */
export function decodeReleased(body: Uint8Array): { releases: Uint8Array[]; records: Uint8Array[] } {
  const { release, release_records, records } = v.parse(released, decode(body));
  return { releases: release === undefined ? [] : [release], records: [...release_records, ...records] };
}
