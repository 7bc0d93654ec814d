import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { formatCredentials } from "../../internal/identity/credentials.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import type { TestBus } from "./bus.ts";
import { freshAddress, type Reply, send } from "./client.ts";
import type { TestMaster } from "./master.ts";
import { connectPeel, type EnrolledPeel } from "./peel-connection.ts";

// A peel's requests for new credentials, written from the description of the wire format.

const ascii = (fields: readonly string[]) => Buffer.from(fields.join("\0"), "latin1");
const now = () => new Date(systemClock.now()).toISOString();

/** The answer of a master over the bus. */
export interface RenewalReply {
  ok: boolean;
  jwt?: string;
  expires_at?: string;
  command_keys?: string[];
  recovery_keys?: string[];
  administrators?: unknown[];
  administrators_version?: number;
  error?: { code: string; message: string };
}

export const newBusKey = (): KeyPair => newKeyPair("user", systemRandom);
export const keyOf = (peel: Pick<EnrolledPeel, "seed">): KeyPair => keyPairFromSeed("user", peel.seed);

/** A signed renewal. */
export function renewalOf(
  peel: EnrolledPeel,
  { renews, to, signedAt = now() }: { renews: string; to: string; signedAt?: string },
): Record<string, unknown> {
  const message = ascii(["svc/renew/v1", peel.enrollmentId, renews, to, signedAt]);
  return {
    enrollment_id: peel.enrollmentId,
    renews,
    bus_public_key: to,
    signed_at: signedAt,
    signature: keyOf(peel).sign(message),
  };
}

/** A signed change of keys. */
export function rekeyOf(peel: EnrolledPeel, key: KeyPair, to: string): Record<string, unknown> {
  const [curve, signedAt] = [deriveCurveKey(key).publicKey, now()];
  const message = ascii(["svc/rekey/v1", peel.enrollmentId, key.publicKey, curve, to, signedAt]);
  return {
    ...{ enrollment_id: peel.enrollmentId, public_key: key.publicKey, curve_public_key: curve },
    ...{ bus_public_key: to, signed_at: signedAt },
    ...{ signature_old: keyOf(peel).sign(message), signature_new: key.sign(message) },
  };
}

/** Asks over the bus, with these credentials of the peel. */
export async function requestOverBus(
  bus: TestBus,
  peel: Pick<EnrolledPeel, "peelId" | "credentials">,
  verb: "renew" | "rekey",
  request: unknown,
): Promise<RenewalReply> {
  await using connection = await connectPeel(bus, peel);
  const bytes = request instanceof Uint8Array ? request : encode(request);
  const answer = await connection.nats.request(`svc.peel.${peel.peelId}.${verb}`, bytes, { timeout: 30_000 });
  return decode(answer.data) as unknown as RenewalReply;
}

/** The peel with other credentials. */
export function withCredentials(peel: EnrolledPeel, jwt: string | undefined, key: KeyPair): EnrolledPeel {
  return { ...peel, credentials: formatCredentials(jwt ?? "", key.seed) };
}

type Door = Pick<TestMaster, "url" | "ca">;

/** Recovers over HTTPS; `by` signs. */
export async function recoverOver(
  door: Door,
  peel: EnrolledPeel,
  to: string,
  { by = keyOf(peel), more = {} }: { by?: KeyPair; more?: Record<string, unknown> } = {},
): Promise<Reply> {
  const from = freshAddress();
  const query = new URLSearchParams({ peel_id: peel.peelId, public_key: by.publicKey });
  const nonce = await send(door.url, door.ca, { path: `/api/v1/enroll/nonce?${query}`, from });
  const { challenge_id, challenge } = nonce.json as Record<string, string>;
  const message = Buffer.concat([
    Buffer.from(challenge ?? "", "base64"),
    ascii(["svc/recover/v1", peel.enrollmentId, to]),
  ]);
  const signature = Buffer.from(by.sign(message)).toString("base64");
  const body = { challenge_id, public_key: by.publicKey, bus_public_key: to, signature, ...more };
  return send(door.url, door.ca, {
    ...{ method: "POST", path: `/api/v1/enroll/${peel.enrollmentId}/recover`, from },
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Asks for the newest enrollment of a key; `by` signs. */
export function byKey(door: Door, publicKey: string, by: KeyPair): Promise<Reply> {
  const signature = Buffer.from(by.sign(Buffer.from(publicKey, "latin1"))).toString("base64url");
  return send(door.url, door.ca, {
    ...{ path: `/api/v1/enroll/by-key/${publicKey}`, from: freshAddress() },
    headers: { authorization: `Nkey ${by.publicKey}:${signature}` },
  });
}
