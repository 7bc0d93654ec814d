import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encode } from "../base/msgpack.ts";
import { keyPairFromSeed, newKeyPair } from "../identity/nkey.ts";
import {
  decodeOperator,
  encodeOperator,
  isOperatorName,
  isSignedOperator,
  type OperatorRecord,
  operatorMessage,
  signOperator,
} from "./operator-record.ts";

const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const anna = keyOf(1);
const root = keyOf(2);

const record: OperatorRecord = {
  name: "anna",
  publicKey: anna.publicKey,
  roles: ["deployer", "viewer"],
  createdAt: Date.UTC(2026, 10, 23, 4, 5, 6, 7),
  createdBy: "root",
  expiresAt: Date.UTC(2027, 1, 21),
  version: 3,
};

/** MessagePack by hand: what another implementation writes for the same record. */
const text = (value: string) => {
  const bytes = Buffer.from(value);
  const head = bytes.length < 32 ? [0xa0 | bytes.length] : [0xd9, bytes.length];
  return Buffer.concat([Buffer.from(head), bytes]);
};
const pair = (key: string, value: Buffer) => Buffer.concat([text(key), value]);
const fields = [
  pair("v", Buffer.from([1])),
  pair("name", text("anna")),
  pair("public_key", text(anna.publicKey)),
  pair("roles", Buffer.concat([Buffer.from([0x92]), text("deployer"), text("viewer")])),
  pair("created_at", text("2026-11-23T04:05:06.007Z")),
  pair("created_by", text("root")),
  pair("expires_at", text("2027-02-21T00:00:00.000Z")),
  pair("version", Buffer.from([3])),
];

test("the signed bytes are the purpose, NUL, and the map without key and signature, in the order of the page", () => {
  const expected = Buffer.concat([
    Buffer.from("svc/operator/v1\0"),
    Buffer.from([0x80 | fields.length]),
    ...fields,
  ]);
  expect(Buffer.from(operatorMessage(record)).toString("hex")).toBe(expected.toString("hex"));
});

test("the stored bytes are the same map with key and signature at its end", () => {
  const signed = signOperator(record, root);
  const stored = Buffer.concat([
    Buffer.from([0x80 | (fields.length + 2)]),
    ...fields,
    pair("key", text(root.publicKey)),
    pair("signature", Buffer.concat([Buffer.from([0xc4, 64]), signed.signature])),
  ]);
  expect(Buffer.from(encodeOperator(signed)).toString("hex")).toBe(stored.toString("hex"));
  // The signature is that of RFC 8032 over the message, which every library makes.
  expect(Buffer.from(signed.signature)).toEqual(Buffer.from(root.sign(operatorMessage(record))));
  expect(decodeOperator(stored)).toEqual(signed);
});

test("what stays released of an operator who is disabled follows that, sorted by environment", () => {
  const released = { "feature/a": 300, base: 7 };
  const signed = signOperator({ ...record, disabled: true, released }, root);
  const map = Buffer.concat([
    Buffer.from([0x82]),
    pair("base", Buffer.from([7])),
    pair("feature/a", Buffer.from([0xcd, 1, 44])),
  ]);
  const stored = Buffer.concat([
    Buffer.from([0x80 | (fields.length + 4)]),
    ...fields.slice(0, -1),
    pair("disabled", Buffer.from([0xc3])),
    pair("released", map),
    ...fields.slice(-1),
    pair("key", text(root.publicKey)),
    pair("signature", Buffer.concat([Buffer.from([0xc4, 64]), signed.signature])),
  ]);
  expect(Buffer.from(encodeOperator(signed)).toString("hex")).toBe(stored.toString("hex"));
  expect(decodeOperator(stored)).toEqual(signed);
  expect(isSignedOperator(decodeOperator(stored))).toBe(true);
});

const names = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/);
const records = fc.record(
  {
    name: names,
    publicKey: fc.integer({ min: 3, max: 200 }).map((byte) => keyOf(byte).publicKey),
    roles: fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/), { minLength: 1, maxLength: 5 }),
    createdAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    createdBy: names,
    expiresAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    disabled: fc.constant(true as const),
    version: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  },
  { requiredKeys: ["name", "publicKey", "roles", "createdAt", "createdBy", "version"] },
);

test("every record is read as it was written, and is signed", () => {
  fc.assert(
    fc.property(records, (one) => {
      const signed = signOperator(one, root);
      expect(decodeOperator(encodeOperator(signed))).toEqual(signed);
      expect(isSignedOperator(signed)).toBe(true);
    }),
  );
});

test("no change of a single byte of what is stored is a signed record", () => {
  const bytes = encodeOperator(signOperator({ ...record, disabled: true }, root));
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of [1, 0x10, 0x80]) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ bit;
      let accepted = false;
      try {
        accepted = isSignedOperator(decodeOperator(changed));
      } catch {
        // Malformed.
      }
      expect([at, bit, accepted]).toEqual([at, bit, false]);
    }
  }
});

test("a signature for another purpose does not count", () => {
  const signed = signOperator(record, root);
  const message = operatorMessage(record);
  const other = Buffer.concat([Buffer.from("svc/request/v1\0\0"), message.subarray(16)]);
  expect(isSignedOperator({ ...signed, signature: root.sign(other) })).toBe(false);
  expect(isSignedOperator({ ...signed, signature: root.sign(message.subarray(16)) })).toBe(false);
  expect(isSignedOperator({ ...signed, key: anna.publicKey })).toBe(false);
});

describe("is refused", () => {
  const stored = {
    v: 1,
    name: "anna",
    public_key: anna.publicKey,
    roles: ["viewer"],
    created_at: "2026-11-23T04:05:06.007Z",
    created_by: "root",
    version: 1,
    key: root.publicKey,
    signature: new Uint8Array(64),
  };
  const { v: form, ...withoutForm } = stored;
  const { version, key, signature, ...withoutEnd } = stored;
  const end = { version, key, signature };
  test.each<[string, unknown, string]>([
    ["another form", { ...stored, v: 2 }, "v:"],
    ["an unknown field", { ...stored, admin: true }, "malformed"],
    ["another order", { ...withoutForm, v: form }, "not in canonical form"],
    ["an account's key", { ...stored, public_key: `A${anna.publicKey.slice(1)}` }, "public_key"],
    [
      "a key with a wrong checksum",
      { ...stored, public_key: `${anna.publicKey.slice(0, -1)}7` },
      "public_key",
    ],
    ["no role", { ...stored, roles: [] }, "roles"],
    ["a role twice", { ...stored, roles: ["viewer", "viewer"] }, "roles"],
    ["too many roles", { ...stored, roles: Array.from({ length: 17 }, (_, i) => `r${i}`) }, "roles"],
    ["a time in another spelling", { ...stored, created_at: "2026-11-23T04:05:06Z" }, "created_at"],
    ["a time with an offset", { ...stored, created_at: "2026-11-23T05:05:06.007+01:00" }, "created_at"],
    ["a time that does not exist", { ...stored, created_at: "2026-13-23T05:05:06.007Z" }, "created_at"],
    ["a version of 0", { ...stored, version: 0 }, "version"],
    ["a version with a fraction", { ...stored, version: 1.5 }, "version"],
    ["a version beyond the largest", { ...stored, version: 2 ** 31 }, "version"],
    ["disabled: false, which is absent", { ...stored, disabled: false }, "disabled"],
    ["released of one who is not disabled", { ...withoutEnd, released: { base: 7 }, ...end }, "released"],
    [
      "released in another order",
      { ...withoutEnd, disabled: true, released: { "feature/a": 1, base: 7 }, ...end },
      "not in canonical form",
    ],
    ["a released version of 0", { ...stored, disabled: true, released: { base: 0 } }, "released"],
    ["the release of no environment", { ...stored, disabled: true, released: { "../a": 1 } }, "released"],
    ["a short signature", { ...stored, signature: new Uint8Array(63) }, "signature"],
    ["a signature that is a text", { ...stored, signature: "a".repeat(64) }, "signature"],
    ["a name with a wildcard", { ...stored, name: "an*" }, "name"],
    ["a name that leads elsewhere", { ...stored, name: "../anna" }, "name"],
    ["an empty name", { ...stored, name: "" }, "name"],
    ["a list", [1], "malformed"],
    ["a text", "anna", "malformed"],
    ["more than a record", { ...stored, created_by: "x".repeat(20_000) }, "bytes"],
  ])("%s", (_, value, reported) => {
    expect(() => decodeOperator(encode(value))).toThrow(reported);
  });

  test("a value in a longer form", () => {
    const bytes = encodeOperator(signOperator(record, root));
    // The version as a 16-bit number.
    const at = Buffer.from(bytes).indexOf(text("version")) + text("version").length;
    const longer = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xcd, 0, 3]), bytes.subarray(at + 1)]);
    expect(() => decodeOperator(longer)).toThrow("not in canonical form");
  });

  test("something after the record", () => {
    const bytes = encodeOperator(signOperator(record, root));
    expect(() => decodeOperator(Buffer.concat([bytes, Buffer.from([0xc0])]))).toThrow();
  });
});

test.each([
  ["anna", true],
  ["ci-7.build_x", true],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
  ["Anna", false],
  [".anna", false],
  ["anna.", false],
  ["a..b", false],
  ["a b", false],
  ["anna\n", false],
  ["änna", false],
])("%j may be a name: %p", (name, may) => {
  expect(isOperatorName(name)).toBe(may);
});

test("a seed of the same key signs the same bytes", () => {
  const again = keyPairFromSeed("user", root.seed);
  expect(signOperator(record, again)).toEqual(signOperator(record, root));
});
