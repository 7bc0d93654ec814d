import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { decode, decodeForeign, encode } from "../base/msgpack.ts";
import { isEnvironmentName } from "../base/names/names.ts";
import { failureOf } from "../bus/subjects/envelope.ts";

// What a peel fetches: state files, and binaries. The answer to a list of digests has the first of the blobs, in their
// order, as many as fit.

const maxRequestBytes = 32 * 1024;
/** Digests in one request. */
export const maxDigests = 256;
const maxReason = 500;

const digests = v.pipe(
  v.array(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))),
  v.minLength(1),
  v.maxLength(maxDigests),
);
const request = v.union([
  v.object({ digests }),
  v.object({ binary: digests }),
  v.object({
    environment: v.pipe(v.string(), v.check(isEnvironmentName)),
    commit: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{7,64}$/))),
    snapshot: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))),
  }),
]);

/**
 * What is fetched: blobs of state files (`digests`), manifests and chunks of binaries (`binary`), or the snapshot of
 * an environment, the one in force, the newest with a commit, or the one with a digest.
 */
export type FetchRequest = v.InferOutput<typeof request>;

export const encodeFetch = (requested: FetchRequest): Uint8Array => encode(requested);

/** @throws SvcError `bad_request` */
export function openFetch(bytes: Uint8Array): FetchRequest {
  const parsed = v.safeParse(request, decodeForeign(bytes, maxRequestBytes));
  if (parsed.success) return parsed.output;
  throw new SvcError(
    "bad_request",
    "a request must have digests, binary, or environment with an optional commit",
  );
}

const blobsAnswer = v.object({ blobs: v.pipe(v.array(v.instance(Uint8Array)), v.minLength(1)) });
const snapshotAnswer = v.object({ statement: v.optional(v.instance(Uint8Array)) });

export const encodeBlobs = (blobs: readonly Uint8Array[]): Uint8Array => encode({ blobs });

/** @param snapshot with the signed statement of the catalog that has it */
export const encodeSnapshot = (snapshot: {
  manifest: string;
  commits: readonly string[];
  statement: Uint8Array;
}): Uint8Array => encode(snapshot);

/** @throws SvcError `not_found`, `rate_limited` or `unavailable` where the masters refused; `unavailable` */
export const openBlobs = (bytes: Uint8Array): Uint8Array[] => open(blobsAnswer, bytes).blobs;

/** @returns the signed statement of the catalog, which is not verified. @throws as `openBlobs` */
export const openSnapshot = (bytes: Uint8Array): Uint8Array | undefined =>
  open(snapshotAnswer, bytes).statement;

function open<Schema extends v.GenericSchema>(schema: Schema, bytes: Uint8Array): v.InferOutput<Schema> {
  const answer = decode(bytes);
  const failed = failureOf(answer);
  if (failed !== undefined) {
    const { code, message } = failed;
    const kind = code === "not_found" || code === "rate_limited" ? code : "unavailable";
    throw new SvcError(kind, message.slice(0, maxReason));
  }
  const parsed = v.safeParse(schema, answer);
  if (parsed.success) return parsed.output;
  throw new SvcError("unavailable", "a master sent a malformed response");
}
