import { attempt } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { curvePublicKeyOf } from "../../identity/mod.ts";
import { type Call, decodeEvidence } from "../../wire/call.ts";
import type { Command } from "../../wire/command.ts";
import type { JobReturn } from "../../wire/return.ts";
import { sealReturn } from "../../wire/sealed-return.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import { signedSubjects } from "../../wire/signed-subjects.ts";
import type { Consent } from "../consent/mod.ts";
import { logOf } from "./returns.ts";
import type { Work } from "./work.ts";

/** A larger value stays hidden: a return and what it hides must fit into one message. */
const maxSealedBytes = 256 * 1024;

/** Seals what a return hides to the operator who requested the job. */
export interface Sealing {
  take(value: Plain): void;
  /** The return, with what it hides next to it. */
  into(result: JobReturn): JobReturn;
}

/**
 * A master says to which key, which must be the one that signed the request: so a master without the key of an operator
 * who may see the values, and the bus, cannot choose another.
 *
 * @returns `undefined` where nobody sees what is hidden
 */
export function sealHidden(
  { peelId, random, log }: Pick<Work, "peelId" | "random" | "log">,
  command: Command,
  { sealTo }: Call,
  consent: Consent | undefined,
): Sealing | undefined {
  if (sealTo === undefined) return undefined;
  const signer = consent?.by === "operator" ? consent.key : signerOf(command);
  if (signer === undefined || curvePublicKeyOf(signer) !== sealTo) {
    logOf(log, command).warn("hidden values are not sealed: no operator with this key signed the request");
    return undefined;
  }
  let sealed: Uint8Array | undefined;
  return {
    take(value) {
      const box = sealReturn(value, sealTo, { jid: command.jid, peel: peelId }, random);
      sealed = box.length > maxSealedBytes ? undefined : box;
    },
    into: (result) => (sealed === undefined || !result.success ? result : { ...result, sealed }),
  };
}

/** The key that signed the request of a command, on a peel that does not judge who may. */
function signerOf({ body }: Command): string | undefined {
  return attempt(() => {
    const evidence = decodeEvidence(body);
    if (evidence === undefined) return undefined;
    const request = openRequest(evidence.request);
    return isSignedFor(signedSubjects.createJob, request) ? request.key : undefined;
  });
}
