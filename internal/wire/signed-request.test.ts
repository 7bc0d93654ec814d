import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { systemRandom } from "../base/id.ts";
import { decode, encode } from "../base/msgpack.ts";
import { sha256 } from "../base/sha256.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { isEnvelope, isSignedFor, openRequest, signRequest } from "./signed-request.ts";

const key = newKeyPair("user", (length) => new Uint8Array(length).fill(7));
const other = newKeyPair("user", systemRandom);
const subject = "svc.job.request";
const request = {
  body: encode({ target: "*", function: "test.ping" }),
  operator: "ann",
  sentAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  nonce: Uint8Array.from({ length: 16 }, (_, at) => at),
};
const sentAt = "2026-01-02T03:04:05.006Z";
const signed = signRequest(subject, request, key);
const altered = (change: Record<string, unknown>) => encode({ ...(decode(signed) as object), ...change });

const text = (value: string) => Buffer.from(value, "utf8");
/** A string in the shortest form, by hand. */
const str = (value: string) => {
  const { length } = text(value);
  return Buffer.concat([length < 32 ? Buffer.of(0xa0 | length) : Buffer.of(0xd9, length), text(value)]);
};
const bin = (value: Uint8Array) => Buffer.concat([Buffer.of(0xc4, value.length), value]);

test("the envelope has exactly these bytes, and the signature covers exactly those", () => {
  const covered = Buffer.concat([
    text("svc/request/v1\0svc.job.request\0ann\x002026-01-02T03:04:05.006Z\0"),
    request.nonce,
    sha256(request.body),
  ]);
  const wanted = Buffer.concat([
    Buffer.of(0x87),
    ...[str("v"), Buffer.of(1)],
    ...[str("body"), bin(request.body)],
    ...[str("operator"), str("ann")],
    ...[str("key"), str(key.publicKey)],
    ...[str("sent_at"), str(sentAt)],
    ...[str("nonce"), bin(request.nonce)],
    ...[str("signature"), bin(key.sign(covered))],
  ]);
  expect(Buffer.from(signed).toString("hex")).toBe(wanted.toString("hex"));
});

test("the signature of a known request never changes", () => {
  const { signature } = openRequest(signed);
  expect(key.publicKey).toBe("UDVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCYSJF");
  expect(Buffer.from(signature).toString("hex")).toBe(
    "556f5a39d63ddad52358348cc605a000559c4b3730a34c11804928e8fdeff0c674568cd97f1e872727145e8a1d9a15e1e927e5b1f5146e78dbe74ac181e78403",
  );
});

test("a request opens as it was signed, for its subject and no other", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.stringMatching(/^[a-z0-9._-]{1,40}$/),
      fc.integer({ min: 0, max: Date.UTC(2999, 0) }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.stringMatching(/^svc\.[a-z]{1,10}\.[a-z]{1,10}$/),
      (body, operator, sentAt, nonce, at) => {
        const given = { body, operator, sentAt, nonce };
        const opened = openRequest(signRequest(at, given, key));
        expect(opened).toMatchObject({ operator, key: key.publicKey, sentAt: given.sentAt });
        expect(Buffer.from(opened.body).equals(body)).toBe(true);
        expect(Buffer.from(opened.nonce).equals(nonce)).toBe(true);
        expect(isSignedFor(at, opened)).toBe(true);
        expect(isSignedFor(`${at}.x`, opened)).toBe(false);
      },
    ),
    { numRuns: 50 },
  );
});

test("no bit of an envelope can be changed: it is malformed then, or not signed", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8 * signed.length - 1 }), (bit) => {
      const changed = Uint8Array.from(signed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      let opened: ReturnType<typeof openRequest>;
      try {
        opened = openRequest(changed);
      } catch (thrown) {
        expect(thrown).toMatchObject({ kind: "unauthorized" });
        return;
      }
      expect(isSignedFor(subject, opened)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test("any bytes are refused as unauthorized, in one short line", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        openRequest(bytes);
      } catch (thrown) {
        expect(thrown).toMatchObject({ kind: "unauthorized" });
        expect(String(thrown).length).toBeLessThan(300);
        expect(String(thrown)).not.toInclude("\n");
        return;
      }
      throw new Error("these bytes were taken for a signed request");
    }),
  );
});

describe("malformed", () => {
  const cases: [why: string, bytes: Uint8Array, says: string][] = [
    ["another version", altered({ v: 2 }), "v: "],
    ["a field too many", altered({ roles: ["admin"] }), "roles: "],
    ["no nonce", altered({ nonce: undefined }), "nonce: "],
    ["a short nonce", altered({ nonce: new Uint8Array(15) }), "nonce: must be 16 bytes"],
    ["a nonce as text", altered({ nonce: "0123456789abcdef" }), "nonce: "],
    ["a body as a map", altered({ body: { target: "*" } }), "body: "],
    ["a long signature", altered({ signature: new Uint8Array(65) }), "signature: must be 64 bytes"],
    ["a key of an account", altered({ key: newKeyPair("account", systemRandom).publicKey }), "key: "],
    ["an empty name", altered({ operator: "" }), "operator: "],
    ["a name that ends early", altered({ operator: "ann\0svc" }), "operator: "],
    ["a name that hides", altered({ operator: "ann\u202e" }), "operator: "],
    ["seconds without milliseconds", altered({ sent_at: "2026-01-02T03:04:05Z" }), "sent_at: must be"],
    ["another zone", altered({ sent_at: "2026-01-02T04:04:05.006+01:00" }), "sent_at: must be"],
    ["a day that is not", altered({ sent_at: "2026-02-30T03:04:05.006Z" }), "sent_at: must be"],
    ["a list", encode([1, 2]), "malformed signed request"],
    [
      "a bomb",
      Buffer.concat([Buffer.of(0xdd, 0, 1, 0, 0), new Uint8Array(65536)]),
      "must be a MessagePack map",
    ],
  ];
  test.each(cases)("%s", (_, bytes, says) => {
    expect(() => openRequest(bytes)).toThrow(says);
  });
});

test("another key does not pass for the one of the envelope", () => {
  const { signature } = openRequest(signRequest(subject, request, other));
  expect(isSignedFor(subject, openRequest(altered({ signature })))).toBe(false);
  expect(isSignedFor(subject, openRequest(altered({ key: other.publicKey })))).toBe(false);
});

test("an envelope with a missing part is still meant to be one", () => {
  for (const field of ["v", "operator", "key", "body", "signature"]) {
    expect(isEnvelope(decode(altered({ [field]: undefined })))).toBe(true);
  }
  for (const plain of [{}, { operator: "ann", target: "*" }, { signature: "x" }, { body: 1 }, null, [], 5]) {
    expect(isEnvelope(plain)).toBe(false);
  }
});
