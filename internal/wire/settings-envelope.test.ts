import { expect, test } from "bun:test";
import { systemRandom } from "../base/id.ts";
import { decode, encode } from "../base/msgpack.ts";
import { deriveCurveKey } from "../identity/curve.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { seal } from "../identity/seal.ts";
import {
  createEnvelopeMaker,
  encodeSettings,
  isGenuine,
  openEnvelope,
  type Recipient,
  readClaim,
} from "./settings-envelope.ts";

const command = newKeyPair("user", systemRandom);
const own = deriveCurveKey(newKeyPair("user", systemRandom));
const other = deriveCurveKey(newKeyPair("user", systemRandom));
const to = { peelId: "web-1", curvePublicKey: own.publicKey };
const settings = { db: { password: "s3cret" } };
const maker = createEnvelopeMaker(command, systemRandom);
const bytes = encodeSettings(settings);
const make = (version: number, recipient = to, from = maker) =>
  from.make(bytes, recipient, { version, digest: from.digest(bytes, recipient) });
const trust = { keys: [command.publicKey], newest: 0 };
const open = (envelope: Uint8Array, more = {}, peelId = "web-1", key = own) =>
  openEnvelope(envelope, peelId, key, { ...trust, ...more });

test("a peel opens settings that a master sealed for it", () => {
  expect(open(make(5))).toEqual({ version: 5, settings });
  expect(open(make(5), { newest: 5 })).toEqual({ version: 5, settings });
  expect(Buffer.from(make(5)).includes("s3cret")).toBe(false);
});

test("settings older than the current ones are rejected", () => {
  expect(() => open(make(5), { newest: 6 })).toThrow("older than those in force");
});

test("settings of another peel are rejected, also with a changed id, and with a shared key", () => {
  const others = make(5, { peelId: "web-2", curvePublicKey: own.publicKey });
  expect(() => open(others)).toThrow("for another peel");
  expect(() => open(encode({ ...(decode(others) as object), peel_id: "web-1" }))).toThrow("signature");
  expect(() => open(make(5, { ...to, curvePublicKey: other.publicKey }))).toThrow("signature is wrong");
});

test("settings with a foreign or missing signature are rejected", () => {
  const forger = newKeyPair("user", systemRandom);
  const forged = make(9, to, createEnvelopeMaker(forger, systemRandom));
  expect(() => open(forged)).toThrow("unknown command key");
  expect(() => open(encode({ ...(decode(forged) as object), key: command.publicKey }))).toThrow("signature");
  expect(() => open(encode({ ...(decode(make(5)) as object), signature: new Uint8Array(64) }))).toThrow(
    "signature",
  );
});

test("a box sealed by anyone else does not replace the signed one", () => {
  const box = seal(
    encode({ a: 1 }),
    own.publicKey,
    Buffer.from("svc/settings/v1\0settings\0web-1"),
    systemRandom,
  );
  const envelope = decode(make(5)) as object;
  for (const change of [{ sealed: box }, { version: 6 }, { digest: new Uint8Array(32) }]) {
    expect(() => open(encode({ ...envelope, ...change }))).toThrow("signature is wrong");
  }
});

test("a signature over other data is not accepted", () => {
  // No other use of the key signs attacker-chosen bytes in this domain.
  const envelope = decode(make(5)) as { sealed: Uint8Array };
  const signature = command.sign(envelope.sealed);
  expect(() => open(encode({ ...envelope, signature }))).toThrow("signature is wrong");
});

test.each<[string, Uint8Array]>([
  ["nothing", new Uint8Array()],
  ["no map", encode([1])],
  ["another version", encode({ ...(decode(make(5)) as object), v: 2 })],
  ["a version that is not an integer", encode({ ...(decode(make(5)) as object), version: 1.5 })],
])("%s is malformed", (_, envelope) => {
  expect(() => open(envelope)).toThrow("malformed settings");
});

test("only masters can compute the digest, which differs by peel and key", () => {
  const hex = (settings: Uint8Array, recipient = to, from = maker) =>
    Buffer.from(from.digest(settings, recipient)).toString("hex");
  expect(hex(bytes)).toBe(hex(encodeSettings(settings), to, createEnvelopeMaker(command, systemRandom)));
  const others = [
    hex(encodeSettings({})),
    hex(bytes, { ...to, peelId: "web-2" }),
    hex(bytes, { ...to, curvePublicKey: other.publicKey }),
    hex(bytes, to, createEnvelopeMaker(newKeyPair("user", systemRandom), systemRandom)),
  ];
  expect(new Set([hex(bytes), ...others]).size).toBe(5);
});

test("a master only accepts envelopes of its own fleet", () => {
  const judge = (envelope: Uint8Array, recipient: Recipient = to, signer = command.publicKey) => {
    const claim = readClaim(envelope);
    return claim !== undefined && isGenuine(claim, recipient, signer);
  };
  expect(readClaim(make(5))).toMatchObject({ version: 5, peelId: "web-1" });
  expect(judge(make(5))).toBe(true);
  expect(judge(encode({ ...(decode(make(5)) as object), digest: new Uint8Array(32) }))).toBe(false);
  expect(judge(make(5), { ...to, peelId: "web-2" })).toBe(false);
  expect(judge(make(5), { ...to, curvePublicKey: other.publicKey })).toBe(false);
  expect(judge(make(5), to, newKeyPair("user", systemRandom).publicKey)).toBe(false);
  expect(readClaim(Buffer.from("junk"))).toBeUndefined();
});
