import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { connect, type TLSSocket } from "node:tls";
import type { Bucket } from "../../internal/bus/storage/bucket.ts";
import { freshAddress, type Reply, type Send, send } from "./client.ts";
import { testToken } from "./master.ts";
import { until } from "./until.ts";

// A peel and an operator, implemented only from the description of the wire format: they use no product code
// for keys, messages or requests.

/** Where a master listens. */
export interface Door {
  readonly url: string;
  readonly ca: string;
}

/** A peel's keys, and the id it enrolls under. */
export interface Enrollee {
  readonly peelId: string;
  /** `U…`, 56 characters. */
  readonly publicKey: string;
  /** `X…`, 56 characters. */
  readonly curvePublicKey: string;
  sign(message: Uint8Array): Buffer;
}

/** What `GET nonce` answers. */
interface Nonce {
  challenge_id: string;
  challenge: string;
  expires_at: string;
}

const userByte = 20 << 3;
const curveByte = 23 << 3;
let made = 0;

/** Makes a peel with new keys; without an id it gets one nobody else has. */
export function newEnrollee(peelId = `peel-${++made}_test`): Enrollee {
  const ed = generateKeyPairSync("ed25519");
  const x = generateKeyPairSync("x25519");
  return {
    peelId,
    publicKey: encodeKey(userByte, ed.publicKey),
    curvePublicKey: encodeKey(curveByte, x.publicKey),
    sign: (message) => sign(null, message, ed.privateKey),
  };
}

/** A public key as nkeys writes it: base32 of a prefix byte, 32 bytes and a CRC-16/XMODEM, low byte first. */
function encodeKey(prefix: number, key: KeyObject): string {
  const body = Buffer.concat([Buffer.of(prefix), key.export({ format: "der", type: "spki" }).subarray(-32)]);
  let sum = 0;
  for (const byte of body) {
    for (let bit = 7; bit >= 0; bit--) {
      const carry = ((sum >> 15) & 1) ^ ((byte >> bit) & 1);
      sum = ((sum << 1) & 0xffff) ^ (carry === 1 ? 0x1021 : 0);
    }
  }
  const bits = [...body, sum & 0xff, sum >> 8].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const digits = bits.match(/.{5}/g) ?? [];
  return digits.map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five, 2)]).join("");
}

/** Sends from its own address, so that no rate limit applies. */
export function call(door: Door, options: Send): Promise<Reply> {
  return send(door.url, door.ca, { from: freshAddress(), ...options });
}

export function getNonce(door: Door, peel: Pick<Enrollee, "peelId" | "publicKey">): Promise<Reply> {
  const query = new URLSearchParams({ peel_id: peel.peelId, public_key: peel.publicKey });
  return call(door, { path: `/api/v1/enroll/nonce?${query}` });
}

/** Asks for a challenge and fails when there is none. */
export async function takeNonce(door: Door, peel: Enrollee): Promise<Nonce> {
  const reply = await getNonce(door, peel);
  if (reply.status !== 200) throw new Error(`nonce: ${reply.status} ${reply.text}`);
  return reply.json as Nonce;
}

/** The body of a correct submission. */
export function submission(
  peel: Enrollee,
  nonce: Nonce,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  const message = Buffer.concat([Buffer.from(nonce.challenge, "base64"), Buffer.from(peel.curvePublicKey)]);
  return {
    peel_id: peel.peelId,
    public_key: peel.publicKey,
    curve_public_key: peel.curvePublicKey,
    challenge_id: nonce.challenge_id,
    signature: peel.sign(message).toString("base64"),
    ...more,
  };
}

/** The two fields by which a peel says which CA root it trusted. */
export function attestation(peel: Enrollee, nonce: Nonce, spki: string): Record<string, string> {
  const nul = Buffer.of(0);
  const message = Buffer.concat([
    Buffer.from("svc/trust-attestation/v1"),
    nul,
    Buffer.from("enroll"),
    nul,
    Buffer.from(nonce.challenge, "base64"),
    nul,
    Buffer.from(spki),
  ]);
  return { trusted_ca_spki: spki, trust_signature: peel.sign(message).toString("base64") };
}

export function postJson(door: Door, path: string, body: unknown, more: Partial<Send> = {}): Promise<Reply> {
  return call(door, {
    method: "POST",
    path,
    body: JSON.stringify(body),
    ...more,
    headers: { "content-type": "application/json", ...more.headers },
  });
}

export function submit(door: Door, body: unknown): Promise<Reply> {
  return postJson(door, "/api/v1/enroll", body);
}

/** Nonce and submission in one. */
export async function enrollOnce(
  door: Door,
  peel: Enrollee,
  more: Record<string, unknown> = {},
): Promise<Reply> {
  return submit(door, submission(peel, await takeNonce(door, peel), more));
}

/** Enrolls and returns the id; anything but 201 fails. */
export async function enrollNew(
  door: Door,
  peel: Enrollee,
  more: Record<string, unknown> = {},
): Promise<string> {
  const reply = await enrollOnce(door, peel, more);
  if (reply.status !== 201) throw new Error(`enroll: ${reply.status} ${reply.text}`);
  return (reply.json as { id: string }).id;
}

export function getStatus(door: Door, id: string): Promise<Reply> {
  return call(door, { path: `/api/v1/enroll/${id}/status` });
}

/** The value of the `Authorization` header that proves the key for this enrollment. */
export function nkeyHeader(peel: Enrollee, id: string): string {
  return `Nkey ${peel.publicKey}:${peel.sign(Buffer.from(id)).toString("base64url")}`;
}

export function getCreds(door: Door, peel: Enrollee, id: string): Promise<Reply> {
  return call(door, {
    path: `/api/v1/enroll/${id}/creds`,
    headers: { authorization: nkeyHeader(peel, id) },
  });
}

export const bearer = { authorization: `Bearer ${testToken}` };

/** An operator's decision over REST. */
export function decide(
  door: Door,
  verb: "approve" | "reject" | "revoke" | "suspend" | "resume" | "clear-clone",
  id: string,
  body?: Record<string, unknown>,
): Promise<Reply> {
  const path = `/api/v1/enrollments/${id}/${verb}`;
  if (body !== undefined) return postJson(door, path, body, { headers: bearer });
  return call(door, { method: "POST", path, headers: bearer });
}

export function listEnrollments(door: Door, query = ""): Promise<Reply> {
  return call(door, { path: `/api/v1/enrollments${query}`, headers: bearer });
}

/** Resolves when the stored record is in this state. */
export async function waitForState(enrollments: Bucket, id: string, wanted: string): Promise<void> {
  const seen = Promise.withResolvers<void>();
  // The state stands as plain text in the MessagePack of the record.
  const watch = enrollments.watch(({ key, value }) => {
    if (key === id && value !== undefined && Buffer.from(value).includes(wanted)) seen.resolve();
  });
  try {
    await seen.promise;
  } finally {
    watch.stop();
  }
}

/** A raw connection to a listener. */
export interface Wire extends Disposable {
  readonly socket: TLSSocket;
  /** Everything received so far. */
  received(): string;
  /** Resolves when this text has been received; rejects when the connection ends first. */
  waitFor(text: string): Promise<void>;
  /** Resolves with everything received when the connection is closed. */
  readonly closed: Promise<string>;
}

/** Opens a TLS 1.3 connection from an address of its own and sends these bytes. */
export async function openWire(door: Door, bytes: string | Uint8Array = ""): Promise<Wire> {
  const socket = connect({
    host: "127.0.0.1",
    port: Number(new URL(door.url).port),
    servername: "localhost",
    ca: door.ca,
    minVersion: "TLSv1.3",
    localAddress: freshAddress(),
  } as Parameters<typeof connect>[0]);
  let text = "";
  const waiting = new Set<() => void>();
  const check = () => {
    for (const waiter of waiting) waiter();
  };
  const closed = Promise.withResolvers<string>();
  let ended = false;
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    text += chunk;
    check();
  });
  socket.on("error", () => {
    // The close that follows tells.
  });
  socket.on("close", () => {
    ended = true;
    closed.resolve(text);
    check();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  if (bytes.length > 0) socket.write(bytes);
  return {
    socket,
    received: () => text,
    closed: closed.promise,
    waitFor: (wanted) =>
      new Promise((resolve, reject) => {
        const waiter = () => {
          if (!text.includes(wanted) && !ended) return;
          waiting.delete(waiter);
          if (text.includes(wanted)) resolve();
          else reject(new Error(`the connection ended before ${JSON.stringify(wanted)}: ${text}`));
        };
        waiting.add(waiter);
        waiter();
      }),
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Opens a status stream; it stands when this resolves. */
export async function openStream(door: Door, id: string): Promise<Wire> {
  const wire = await openWire(
    door,
    `GET /api/v1/enroll/${id}/stream HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`,
  );
  await wire.waitFor("\r\n\r\n");
  return wire;
}

/** Asks a master's health listener until the answer is the wanted one. */
async function requestUntil(url: string, found: (status: number, text: string) => boolean): Promise<void> {
  const request = async () => {
    const response = await fetch(url);
    return { status: response.status, text: await response.text() };
  };
  await until(request, ({ status, text }) => found(status, text));
}

/** Resolves when this number of a master's metrics is this one. */
export function metricBecomes(healthUrl: string, name: string, wanted: number): Promise<void> {
  const line = new RegExp(`^${name} (\\S+)$`, "m");
  return requestUntil(`${healthUrl}/metrics`, (_, text) => Number(line.exec(text)?.[1]) === wanted);
}

/** Resolves when `/readyz` answers with this status. */
export function readinessBecomes(healthUrl: string, wanted: 200 | 503): Promise<void> {
  return requestUntil(`${healthUrl}/readyz`, (status) => status === wanted);
}
