import { defined } from "../../base/defined.ts";
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

/** The fields of an agreement by which it counts for one request alone. */
interface Seen {
  /** SHA-256 of what was signed. */
  request_digest?: Uint8Array;
  /** The one of several ids that were signed together: they have one digest. */
  signed_id?: string;
}

/**
 * Shows what the requester signed, in the words of the requester and not in those of a master.
 *
 * @returns nothing for a request without a signature, and for an operator who may not see it
 * @throws SvcError `unauthorized` when a master shows another request than the one that was signed
 */
export async function readSeen(bus: Bus, id: string, cli: Pick<Cli, "say">): Promise<Seen> {
  let shown: Shown;
  try {
    shown = (await request(bus, approvalOperations.getApproval, { id })).approval;
  } catch (thrown) {
    if (toSvcError(thrown).kind !== "forbidden") throw thrown;
    cli.say(
      "peels that obey operators only do not count this agreement: your roles lack approvals show, so you cannot see what was signed",
    );
    return {};
  }
  if (shown.signed !== undefined) return seenOf(shown, shown.signed, cli);
  const { asked_by: by, operation: what, about, peels, expires_at: until } = shown;
  const fields = Object(shown.request) as Requested["request"];
  for (const line of sentencesOf({ by, what, about, request: fields, peels, until })) cli.say(line);
  return {};
}

/** @throws SvcError as `readSeen` */
export function seenOf(
  {
    asked_by,
    about,
    request: input,
    targets,
    content,
    expires_at,
  }: Pick<Shown, "asked_by" | "about" | "request" | "targets" | "content" | "expires_at">,
  { subject, envelope: text }: NonNullable<Shown["signed"]>,
  { say }: Pick<Cli, "say">,
): Seen {
  const envelope = Buffer.from(text, "base64");
  const signed = openRequest(envelope);
  const { operator, sentAt, body } = signed;
  const {
    operator: _,
    request_id: __,
    targets_digest,
    snapshot,
    ids,
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
  const one = ids === undefined ? undefined : oneOf(ids, input, asked_by);
  const id = one === undefined ? {} : { id: one };
  // Not what the master calls it: the subject is signed.
  const what = operationOf(subject);
  const said = { by: operator, what, about, request: { ...id, ...requested }, peels, more };
  for (const line of sentencesOf({ ...said, signedAt: sentAt, until: expires_at })) say(line);
  return { request_digest: sha256(envelope), ...defined({ signed_id: one }) };
}

/** Each of several ids that were signed together waits by itself. */
function oneOf(ids: unknown, input: unknown, by: string): string {
  const { id } = Object(input) as { id?: unknown };
  if (typeof id === "string" && Array.isArray(ids) && ids.includes(id)) return id;
  throw other(`${by} signed other ids than the master shows`);
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
