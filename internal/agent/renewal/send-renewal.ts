import { type Clock, rfc3339 } from "../../base/clock.ts";
import { type ErrorKind, SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { failureOf, rekeySubject, renewSubject } from "../../bus/mod.ts";
import { deriveCurveKey, type KeyPair } from "../../identity/mod.ts";
import { rekeyMessage, renewalMessage } from "../../wire/enrollment-messages.ts";
import { EnrollmentEnded, type Issued, readIssued } from "../joining/mod.ts";
import type { Connection } from "../link/mod.ts";

const timeoutMs = 10_000;

export interface AskMasters {
  connection: Pick<Connection, "request">;
  /** Encoded peel id. */
  peelId: string;
  enrollmentId: string;
  /** The key of the next credentials. */
  busKey: KeyPair;
  clock: Pick<Clock, "now">;
}

/** Masters refused. */
export class RenewalRefused extends SvcError {
  /** As on the wire. */
  readonly wire: string;

  constructor(kind: ErrorKind, code: string, message: string) {
    super(kind, message);
    this.wire = code;
  }
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
export function sendRenewal(options: AskMasters & { key: KeyPair; renews: string }): Promise<Issued> {
  const { connection, peelId, enrollmentId, key, renews, busKey, clock } = options;
  const signedAt = rfc3339(clock.now());
  const busPublicKey = busKey.publicKey;
  return ask(connection, renewSubject(peelId), busKey, {
    enrollment_id: enrollmentId,
    renews,
    bus_public_key: busPublicKey,
    signed_at: signedAt,
    signature: key.sign(renewalMessage({ enrollmentId, renews, busPublicKey, signedAt })),
  });
}

/**
 * Asks the masters to know this peel by another key from now on.
 *
 * @throws as `sendRenewal` does
 */
export function sendRekey(options: AskMasters & { oldKey: KeyPair; newKey: KeyPair }): Promise<Issued> {
  const { connection, peelId, enrollmentId, oldKey, newKey, busKey, clock } = options;
  const signedAt = rfc3339(clock.now());
  const { publicKey } = newKey;
  const curvePublicKey = deriveCurveKey(newKey).publicKey;
  const busPublicKey = busKey.publicKey;
  const message = rekeyMessage({ enrollmentId, publicKey, curvePublicKey, busPublicKey, signedAt });
  return ask(connection, rekeySubject(peelId), busKey, {
    enrollment_id: enrollmentId,
    public_key: publicKey,
    curve_public_key: curvePublicKey,
    bus_public_key: busPublicKey,
    signed_at: signedAt,
    signature_old: oldKey.sign(message),
    signature_new: newKey.sign(message),
  });
}

async function ask(
  connection: Pick<Connection, "request">,
  subject: string,
  busKey: KeyPair,
  asked: Record<string, unknown>,
): Promise<Issued> {
  const bytes = await connection.request(subject, encode(asked), timeoutMs).catch((thrown) => {
    throw isUnheard(thrown) ? new NobodyRenews() : thrown;
  });
  const answer = decode(bytes);
  const failed = failureOf(answer);
  if (failed !== undefined) {
    throw new RenewalRefused(kindOf(failed.code), failed.code, failed.message.slice(0, 500));
  }
  return readIssued(typeof answer === "object" && answer !== null ? { ...answer } : {}, busKey);
}

/** Whether the server found nobody to give the request to. */
const isUnheard = (thrown: unknown): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === "503";

function kindOf(code: string): ErrorKind {
  switch (code) {
    case "unauthorized":
    case "not_found":
    case "forbidden":
    case "rate_limited":
      return code;
    case "clone_suspected":
      return "forbidden";
    default:
      return "unavailable";
  }
}

/** Whether the same request may succeed later without an operator. */
export function isForNow(thrown: unknown): boolean {
  if (thrown instanceof EnrollmentEnded) return false;
  if (thrown instanceof RenewalRefused)
    return thrown.wire === "unavailable" || thrown.wire === "rate_limited";
  return true;
}
