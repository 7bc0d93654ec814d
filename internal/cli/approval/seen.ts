import { SvcError, toSvcError } from "../../base/errors.ts";
import { decode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { rolloutOperations } from "../../fleet/rollout/mod.ts";
import { merkleTree } from "../../identity/merkle/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import { request } from "../request.ts";
import { type Requested, sentencesOf } from "./sentences.ts";

type Shown = Awaited<ReturnType<(typeof approvalOperations.getApproval)["operation"]["run"]>>["approval"];

/**
 * Shows what the requester signed, in the words of the requester and not in those of a master.
 *
 * @returns the digest of what was signed, by which an agreement counts for this request alone; `undefined` for a
 *   request without a signature, and for an operator who may not see it
 * @throws SvcError `unauthorized` when a master shows another request than the one that was signed
 */
export async function seenDigest(
  bus: Bus,
  id: string,
  cli: Pick<Cli, "say">,
): Promise<Uint8Array | undefined> {
  let shown: Shown;
  try {
    shown = (await request(bus, approvalOperations.getApproval, { id })).approval;
  } catch (thrown) {
    if (toSvcError(thrown).kind !== "forbidden") throw thrown;
    cli.say(
      "peels that obey operators only do not count this agreement: your roles lack approvals show, so you cannot see what was signed",
    );
    return undefined;
  }
  if (shown.signed !== undefined) return digestOf(shown, shown.signed, cli);
  const { asked_by: by, operation: what, about, peels, expires_at: until } = shown;
  const fields = Object(shown.request) as Requested["request"];
  for (const line of sentencesOf({ by, what, about, request: fields, peels, until })) cli.say(line);
  return undefined;
}

/** @throws SvcError as `seenDigest` */
export function digestOf(
  {
    asked_by,
    about,
    targets,
    content,
    expires_at,
  }: Pick<Shown, "asked_by" | "about" | "targets" | "content" | "expires_at">,
  { subject, envelope: text }: NonNullable<Shown["signed"]>,
  { say }: Pick<Cli, "say">,
): Uint8Array {
  const envelope = Buffer.from(text, "base64");
  const signed = openRequest(envelope);
  const { operator, sentAt, body } = signed;
  const {
    operator: _,
    request_id: __,
    targets_digest,
    snapshot,
    ...requested
  } = decode(body) as Record<string, unknown>;
  if (operator !== asked_by || !isSignedFor(subject, signed)) {
    throw other(`${asked_by} did not sign the request that the master shows`);
  }
  let peels: number | undefined;
  let more = "";
  if (targets_digest instanceof Uint8Array && targets !== undefined) {
    if (targets.length === 0 || !Buffer.from(targets_digest).equals(merkleTree(targets).root)) {
      throw other(`${asked_by} signed other peels than the master shows`);
    }
    peels = targets.length;
  }
  if (snapshot instanceof Uint8Array) {
    if (content !== undefined && !Buffer.from(snapshot).equals(content.snapshot)) {
      throw other(`${asked_by} signed other state files than the master shows`);
    }
    more = ` with state files ${shortSnapshot(snapshot)}`;
  }
  // Not what the master calls it: the subject is signed.
  const what = operationOf(subject);
  const said = { by: operator, what, about, request: requested, peels, more };
  for (const line of sentencesOf({ ...said, signedAt: sentAt, until: expires_at })) say(line);
  return sha256(envelope);
}

/** The operation that takes requests of a subject; the subject itself where nobody knows one. */
function operationOf(subject: string): string {
  const known = [jobOperations, rolloutOperations, enrollmentOperations, operatorOperations];
  for (const { operation, bus } of known.flatMap((room) => Object.values(room) as readonly Door[])) {
    if (bus?.subject === subject) return operation.name;
  }
  return subject.replace(/^svc\.(?:admin\.)?/, "");
}

interface Door {
  readonly operation: { readonly name: string };
  readonly bus?: { readonly subject: string };
}

const other = (reason: string) =>
  new SvcError("unauthorized", `${reason}: nothing was agreed to; report it to those who run the masters`);
