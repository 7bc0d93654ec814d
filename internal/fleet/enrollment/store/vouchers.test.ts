import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { systemRandom } from "../../../base/id.ts";
import { encode, type Plain } from "../../../base/msgpack.ts";
import { deriveCurveKey } from "../../../identity/curve.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { createRecordMac } from "../../../identity/record-mac.ts";
import { enrollmentMessage } from "../../../wire/enrollment-messages.ts";
import {
  decodeMap,
  decodeRecord,
  type Enrollment,
  encodeRecord,
  storedEntries,
  toStored,
} from "../record/record.ts";
import { sealingKeyOf } from "../record/sealing-key.ts";
import { createVouchers } from "./vouchers.ts";

const account = newKeyPair("account", systemRandom);
const key = newKeyPair("user", systemRandom);
const curvePublicKey = deriveCurveKey(key).publicKey;
const vouchers = createVouchers(createRecordMac(account));
const challenge = new Uint8Array(systemRandom(32));

/** A record with every field there is. */
const full: Required<Enrollment> = {
  id: `enr-${"a".repeat(27)}`,
  peelId: "web-1",
  publicKey: key.publicKey,
  curvePublicKey,
  hostname: "web-1",
  metadata: { rack: 7, 3: "x", tags: ["a", { b: 1.5 }] },
  labels: { env: "lab" },
  former: { enrollment: "enr-000000000000000000000000000", labels: { env: "test" } },
  address: "192.0.2.7",
  evidence: { type: "x509", fields: { subject: "CN=web-1", rack: 7 } },
  state: "active",
  provedBy: "token:jtk-1",
  rivalOf: `enr-${"b".repeat(27)}`,
  decidedBy: "ann",
  rejectReason: "no",
  revokeReason: "sold",
  trustedCaSpki: `sha256:${"ab".repeat(32)}`,
  trustSignature: "c2ln",
  trustMismatch: false,
  createdAt: 1_000,
  updatedAt: 2_000,
  decidedAt: 3_000,
  issuedAt: 4_000,
  activatedAt: 5_000,
  revokedAt: 6_000,
  credsExpiresAt: 7_000,
  busPublicKey: "UBUS",
  busKeys: [
    { publicKey: "UOLD", expiresAt: 6_500 },
    { publicKey: "UBUS", expiresAt: 7_000 },
  ],
  renewedAt: 9_000,
  renewals: 3,
  recoveredAt: 10_000,
  recoveries: 1,
  rekeyedAt: 11_000,
  previousPublicKey: "UBEFORE",
  cloneSuspected: true,
  succeeded: true,
  copiedAt: 1_767_225_600_000,
  cloneSeenAt: 12_000,
  suspended: { at: 8_000, reason: "floods" },
  direct: false,
  directSignature: { operator: "ann", key: key.publicKey, signature: new Uint8Array(64) },
  enrollChallenge: challenge,
  enrollSignature: new Uint8Array(key.sign(enrollmentMessage(challenge, curvePublicKey))),
  rekeyProof: {
    busPublicKey: "UBUS",
    signedAt: "2026-01-01T00:00:00.000Z",
    signature: new Uint8Array(64),
  },
  renewedFrom: "UOLD",
  leftSites: [{ site: "berlin", until: 13_000 }],
  recentRenewals: [9_000],
  identityVoucher: new Uint8Array(),
  decisionVoucher: new Uint8Array(),
};
const marked = vouchers.mark(full);
/** What a reader finds after a master has written the record. */
const stored = decodeMap(encodeRecord(marked)) as Record<string, Plain>;
/** Through the bus. */
const fits = (map: Record<string, Plain>) => vouchers.fits(decodeMap(encode(map)));

test("what a master wrote is vouched for, also after it was read and written again", () => {
  expect(fits(stored)).toBe(true);
  const again = encodeRecord(vouchers.mark(decodeRecord(encodeRecord(marked))));
  expect(Buffer.from(again)).toEqual(Buffer.from(encodeRecord(marked)));
});

test("the stored form has the bytes of the record", () => {
  const sealed = vouchers.seal?.(full);
  expect(Buffer.from(encode(sealed?.stored))).toEqual(Buffer.from(encodeRecord(marked)));
});

test.each(['{"__proto__": []}', '{"a": {"__proto__": 1}, "constructor": null}', '{"": ""}'])(
  "what a peel sends is vouched for as it is read: %s",
  (metadata) => {
    const written = encodeRecord(vouchers.mark({ ...full, metadata: JSON.parse(metadata) }));
    expect(vouchers.fits(decodeMap(written))).toBe(true);
  },
);

test("the signature and the challenge of the peel are stored as binary, and shown to nobody", () => {
  expect(stored.enroll_signature).toBeInstanceOf(Uint8Array);
  expect(stored.enroll_challenge).toBeInstanceOf(Uint8Array);
  const shown = Object.keys(toStored(marked));
  expect(shown.filter((name) => /voucher|enroll_/.test(name))).toEqual([]);
});

test("the record of these tests has every field of the schema", () => {
  expect(Object.keys(stored).sort()).toEqual(Object.keys(storedEntries).sort());
});

describe("a mutation is found", () => {
  const other = (value: Plain): Plain => {
    if (typeof value === "boolean") return !value;
    if (typeof value === "string") return `${value}x`;
    if (value instanceof Uint8Array) return value.map((byte, n) => (n === 0 ? byte ^ 1 : byte));
    return { ...(value as object), rack: 8 };
  };
  const anyValue = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 64 }),
    fc.dictionary(fc.string(), fc.string()),
  );
  test.each(Object.keys(storedEntries))("of %s, by whatever value", (name) => {
    const same = (value: unknown) => Buffer.from(encode(value)).equals(Buffer.from(encode(stored[name])));
    fc.assert(
      fc.property(anyValue, (value) => {
        fc.pre(!same(value));
        expect(fits({ ...stored, [name]: value as Plain })).toBe(false);
      }),
    );
  });
  test.each(Object.keys(stored))("of %s: changed, emptied, missing", (name) => {
    expect(fits({ ...stored, [name]: other(stored[name] as Plain) })).toBe(false);
    expect(fits({ ...stored, [name]: null })).toBe(false);
    const { [name]: _, ...without } = stored;
    expect(fits(without)).toBe(false);
  });

  test("of a field that was absent", () => {
    const { id, peelId, publicKey, state, createdAt, updatedAt } = full;
    const min = vouchers.mark({ id, peelId, publicKey, curvePublicKey, state, createdAt, updatedAt });
    const map = decodeMap(encodeRecord(min)) as Record<string, Plain>;
    expect(fits(map)).toBe(true);
    const added = Object.keys(stored).filter((name) => !Object.hasOwn(map, name));
    expect(added).toHaveLength(40);
    for (const name of added) {
      expect([name, fits({ ...map, [name]: stored[name] as Plain })]).toEqual([name, false]);
    }
  });

  test("of what this version does not know", () => {
    expect(fits({ ...stored, unknown: true })).toBe(false);
  });

  test("when halves of two revisions are put together, or a record is stored as another one", () => {
    const { busPublicKey: _, ...before } = { ...full, state: "approved" as const };
    const earlier = vouchers.mark(before);
    expect(fits({ ...stored, identity_voucher: earlier.identityVoucher as Uint8Array })).toBe(false);
    const { bus_public_key: __, ...unbound } = stored;
    expect(fits({ ...unbound, identity_voucher: earlier.identityVoucher as Uint8Array })).toBe(false);
    expect(fits({ ...stored, id: `enr-${"b".repeat(27)}` })).toBe(false);
  });

  test("by the key of another fleet", () => {
    const others = createVouchers(createRecordMac(newKeyPair("account", systemRandom)));
    expect(fits(decodeMap(encodeRecord(others.mark(full))) as Record<string, Plain>)).toBe(false);
  });
});

test("a record without vouchers, or with half of them, is not one of a master", () => {
  const { identity_voucher: identity, decision_voucher: decision, ...bare } = stored;
  expect(fits(bare)).toBe(false);
  expect(fits({ ...bare, identity_voucher: identity as Uint8Array })).toBe(false);
  expect(fits({ ...bare, decision_voucher: decision as Uint8Array })).toBe(false);
});

test("nothing is sealed to a curve key that its owner did not sign", () => {
  const { rekeyProof: ___, ...enrolled } = full;
  const thief = deriveCurveKey(newKeyPair("user", systemRandom)).publicKey;
  expect(sealingKeyOf(enrolled)).toBe(curvePublicKey);
  expect(sealingKeyOf({ ...enrolled, curvePublicKey: thief })).toBeUndefined();
  const { enrollChallenge: _, ...without } = enrolled;
  expect(sealingKeyOf(without)).toBeUndefined();
  const { enrollSignature: __, ...bare } = without;
  expect(sealingKeyOf(bare)).toBeUndefined();
});
