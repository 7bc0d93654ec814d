import { rfc3339 } from "../../base/clock.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import { decode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { merkleTree } from "../../identity/merkle/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import { peelCount } from "../job/counts.ts";
import { request } from "../request.ts";

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
  return shown.signed === undefined ? undefined : digestOf(shown, shown.signed, cli);
}

/** @throws SvcError as `seenDigest` */
export function digestOf(
  { asked_by, targets, content }: Pick<Shown, "asked_by" | "targets" | "content">,
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
  let on = "";
  if (targets_digest instanceof Uint8Array && targets !== undefined) {
    if (targets.length === 0 || !Buffer.from(targets_digest).equals(merkleTree(targets).root)) {
      throw other(`${asked_by} signed other peels than the master shows`);
    }
    on = ` on ${peelCount(targets.length)}`;
  }
  if (snapshot instanceof Uint8Array) {
    if (content !== undefined && !Buffer.from(snapshot).equals(content.snapshot)) {
      throw other(`${asked_by} signed other state files than the master shows`);
    }
    on += ` with state files ${shortSnapshot(snapshot)}`;
  }
  // Not what the master calls it: the subject is signed.
  say(
    `${operator} signed ${subject}${on} at ${rfc3339(sentAt)}: ${escapeInvisible(JSON.stringify(requested))}`,
  );
  return sha256(envelope);
}

const other = (reason: string) =>
  new SvcError("unauthorized", `${reason}: nothing was agreed to; report it to those who run the masters`);
