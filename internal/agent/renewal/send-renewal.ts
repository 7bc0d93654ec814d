import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { rekeySubject, renewSubject } from "../../bus/subjects/subjects.ts";
import { deriveCurveKey, type KeyPair } from "../../identity/mod.ts";
import { rekeyMessage, renewalMessage } from "../../wire/enrollment-messages.ts";
import { encodeRekey, encodeRenewal, openIssued, RenewalRefused } from "../../wire/renewal.ts";
import { EnrollmentEnded, type Issued, readIssued } from "../joining/mod.ts";
import type { Connection } from "../link/mod.ts";

const timeoutMs = 10_000;

export interface MasterRequests {
  connection: Pick<Connection, "request">;
  /** Encoded peel id. */
  peelId: string;
  enrollmentId: string;
  /** The key of the next credentials. */
  busKey: KeyPair;
  clock: Pick<Clock, "now">;
}

/** No master took the request, so none knows the key in it. */
export class NobodyRenews extends SvcError {
  constructor() {
    super("unavailable", "no master renews credentials: start one");
  }
}

/**
 * Asks the masters to renew the credentials. A repeat for the same key is answered the same.
 *
 * @param renews the `U…` key of the credentials in use
 * @throws RenewalRefused, NobodyRenews; SvcError `unavailable` for an answer that is not one; errors of the connection
 */
export function sendRenewal(options: MasterRequests & { key: KeyPair; renews: string }): Promise<Issued> {
  const { connection, peelId, enrollmentId, key, renews, busKey, clock } = options;
  const requested = { enrollmentId, renews, busPublicKey: busKey.publicKey, signedAt: rfc3339(clock.now()) };
  const signature = key.sign(renewalMessage(requested));
  return request(connection, renewSubject(peelId), busKey, encodeRenewal({ ...requested, signature }));
}

/**
 * Asks the masters to know this peel by another key from now on.
 *
 * @throws as `sendRenewal` does
 */
export function sendRekey(options: MasterRequests & { oldKey: KeyPair; newKey: KeyPair }): Promise<Issued> {
  const { connection, peelId, enrollmentId, oldKey, newKey, busKey, clock } = options;
  const requested = {
    ...{ enrollmentId, publicKey: newKey.publicKey, curvePublicKey: deriveCurveKey(newKey).publicKey },
    ...{ busPublicKey: busKey.publicKey, signedAt: rfc3339(clock.now()) },
  };
  const message = rekeyMessage(requested);
  const signatures = { signatureOld: oldKey.sign(message), signatureNew: newKey.sign(message) };
  return request(connection, rekeySubject(peelId), busKey, encodeRekey({ ...requested, ...signatures }));
}

async function request(
  connection: Pick<Connection, "request">,
  subject: string,
  busKey: KeyPair,
  requested: Uint8Array,
): Promise<Issued> {
  const answer = await connection.request(subject, requested, timeoutMs).catch((thrown) => {
    throw isUnheard(thrown) ? new NobodyRenews() : thrown;
  });
  return readIssued(openIssued(answer), busKey);
}

/** Whether the server found nobody to give the request to. */
const isUnheard = (thrown: unknown): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === "503";

/** Whether the same request may succeed later without an operator. */
export function isForNow(thrown: unknown): boolean {
  if (thrown instanceof EnrollmentEnded) return false;
  if (thrown instanceof RenewalRefused)
    return thrown.code === "unavailable" || thrown.code === "rate_limited";
  return true;
}
