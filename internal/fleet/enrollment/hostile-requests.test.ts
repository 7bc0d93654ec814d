import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { rekeyMessage, renewalMessage } from "../../wire/enrollment-messages.ts";
import { openRekey, openRenewal, type RekeyRequest, type RenewalRequest } from "../../wire/renewal.ts";
import { decideRekey, decideRenewal, type RenewalContext } from "./credentials/decide-renewal.ts";
import { readRecovery, recoverySchema } from "./credentials/recovery-request.ts";
import type { Enrollment } from "./record/record.ts";

// Requests that renew credentials, replace keys and recover credentials, as hosts that are not peels send them.

const id = "enr-000000000000000000000000000";
const now = Date.UTC(2026, 0, 1);
const signedAt = rfc3339(now);
const key = newKeyPair("user", systemRandom);
const nextKey = newKeyPair("user", systemRandom);
const current = newKeyPair("user", systemRandom).publicKey;
const busPublicKey = newKeyPair("user", systemRandom).publicKey;
const someKey = newKeyPair("user", systemRandom).publicKey;
const curve = (of: typeof key) => deriveCurveKey(of).publicKey;

const record: Enrollment = {
  ...{ id, peelId: "web_1", publicKey: key.publicKey, curvePublicKey: curve(key), state: "active" },
  ...{ createdAt: now, updatedAt: now, busPublicKey: current, credsExpiresAt: now + 1_000 },
};
const context: RenewalContext = { peelId: "web_1", validityMs: 3_600_000, now };

const renewal = (): RenewalRequest => {
  const fields = { enrollmentId: id, renews: current, busPublicKey, signedAt };
  return { ...fields, signature: key.sign(renewalMessage(fields)) };
};
const rekeying = (): RekeyRequest => {
  const fields = { enrollmentId: id, publicKey: nextKey.publicKey, curvePublicKey: curve(nextKey) };
  const message = rekeyMessage({ ...fields, busPublicKey, signedAt });
  const signatures = { signatureOld: key.sign(message), signatureNew: nextKey.sign(message) };
  return { ...fields, busPublicKey, signedAt, ...signatures };
};
const onWire = {
  renew: () => {
    const { enrollmentId, renews, busPublicKey, signedAt, signature } = renewal();
    return {
      enrollment_id: enrollmentId,
      renews,
      bus_public_key: busPublicKey,
      signed_at: signedAt,
      signature,
    };
  },
  rekey: () => {
    const request = rekeying();
    return {
      ...{ enrollment_id: request.enrollmentId, bus_public_key: request.busPublicKey },
      ...{ public_key: request.publicKey, curve_public_key: request.curvePublicKey },
      ...{ signature_old: request.signatureOld, signature_new: request.signatureNew },
      signed_at: request.signedAt,
    };
  },
};
const recovery = () => ({
  ...{ id, challenge_id: "chl-000000000000000000000000000", public_key: key.publicKey },
  bus_public_key: busPublicKey,
  signature: Buffer.from(new Uint8Array(64)).toString("base64"),
});

const readers = { renew: openRenewal, rekey: openRekey };
const names = ["renew", "rekey"] as const;

/** What a function throws; `undefined` when it returns. */
function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

function expectRefused(thrown: unknown, kinds: readonly string[]): SvcError {
  if (!(thrown instanceof SvcError)) throw new Error(`not refused, but ${thrown}`, { cause: thrown });
  expect(kinds).toContain(thrown.kind);
  return thrown;
}

/** Plain values that are hardly ever the right one. */
const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string(),
  fc.uint8Array({ maxLength: 200 }),
  fc.constantFrom(current, busPublicKey, someKey, id, signedAt, key.publicKey.toLowerCase()),
);

describe.each(names)("%s", (name) => {
  test("what its format describes is read as it was sent", () => {
    expect(readers[name](encode(onWire[name]()))).toEqual(name === "renew" ? renewal() : rekeying());
  });

  test("fields of a later version are left out", () => {
    expect(() => readers[name](encode({ ...onWire[name](), later: { a: [1, 2] } }))).not.toThrow();
  });

  test("any bytes are read or refused as a bad request, and never anything else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4_096 }), (bytes) => {
        expectRefused(
          thrownBy(() => readers[name](bytes)),
          ["bad_request"],
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test("a right request that is cut, or has one bit changed, is read or refused as a bad request", () => {
    const bytes = encode(onWire[name]());
    for (let length = 0; length < bytes.length; length++) {
      expectRefused(
        thrownBy(() => readers[name](bytes.slice(0, length))),
        ["bad_request"],
      );
    }
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
        const changed = bytes.slice();
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const thrown = thrownBy(() => readers[name](changed));
        if (thrown !== undefined) expectRefused(thrown, ["bad_request"]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a field with another value is named, and its value is not repeated", () => {
    const fields = Object.keys(onWire[name]());
    fc.assert(
      fc.property(fc.constantFrom(...fields), anyValue, (field, value) => {
        const thrown = thrownBy(() => readers[name](encode({ ...onWire[name](), [field]: value })));
        if (thrown === undefined) return;
        const { message } = expectRefused(thrown, ["bad_request"]);
        expect(message).toContain(field);
        if (typeof value === "string" && value.length > 12) expect(message).not.toContain(value);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a field that is missing is named", () => {
    for (const field of Object.keys(onWire[name]())) {
      const { [field]: _, ...others } = onWire[name]() as Record<string, unknown>;
      const { message } = expectRefused(
        thrownBy(() => readers[name](encode(others))),
        ["bad_request"],
      );
      expect(message).toContain(field);
    }
  });
});

describe("nothing but what the peel signed changes its record", () => {
  const refusals = ["unauthorized", "bad_request", "forbidden"];

  test("the requests that the others are made of are accepted", () => {
    expect(decideRenewal(record, renewal(), context)).toBe("change");
    expect(decideRekey(record, rekeying(), context)).toBe("change");
  });

  test("a signed renewal with any field changed is refused, and marks no clone", () => {
    const change = fc.oneof(
      fc.record({ renews: fc.constantFrom(someKey, busPublicKey, key.publicKey) }),
      fc.record({ busPublicKey: fc.constantFrom(someKey, current, key.publicKey) }),
      fc.record({ enrollmentId: fc.constantFrom("enr-000000000000000000000000001", "", "enr-") }),
      fc.record({
        signedAt: fc.integer({ min: -299_999, max: 300_000 }).map((ms) => rfc3339(now + (ms || 1))),
      }),
      fc.record({ signature: fc.uint8Array({ minLength: 64, maxLength: 64 }) }),
      fc.nat(511).map((bit) => ({ signature: flip(renewal().signature, bit) })),
    );
    fc.assert(
      fc.property(change, (changed) => {
        expectRefused(
          thrownBy(() => decideRenewal(record, { ...renewal(), ...changed }, context)),
          refusals,
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test("a signed change of keys with any field changed is refused", () => {
    const other = newKeyPair("user", systemRandom);
    const change = fc.oneof(
      fc.record({ publicKey: fc.constantFrom(other.publicKey, key.publicKey) }),
      fc.record({ curvePublicKey: fc.constantFrom(curve(other), curve(key)) }),
      fc.record({ busPublicKey: fc.constantFrom(someKey, current) }),
      fc.record({ enrollmentId: fc.constantFrom("enr-000000000000000000000000001", "") }),
      fc.constantFrom(
        { signatureOld: rekeying().signatureNew },
        { signatureNew: rekeying().signatureOld },
        { signatureOld: rekeying().signatureNew, signatureNew: rekeying().signatureOld },
      ),
      fc.nat(511).map((bit) => ({ signatureOld: flip(rekeying().signatureOld, bit) })),
      fc.nat(511).map((bit) => ({ signatureNew: flip(rekeying().signatureNew, bit) })),
    );
    fc.assert(
      fc.property(change, (changed) => {
        expectRefused(
          thrownBy(() => decideRekey(record, { ...rekeying(), ...changed }, context)),
          refusals,
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test("a signature of one message is not one of the other, whatever the fields are", () => {
    const text = fc.string({ maxLength: 80 });
    fc.assert(
      fc.property(fc.tuple(text, text, text, text), fc.tuple(text, text, text, text, text), (one, other) => {
        const [enrollmentId, renews, bus, at] = one;
        const renewed = renewalMessage({ enrollmentId, renews, busPublicKey: bus, signedAt: at });
        const [enrolled, publicKey, curvePublicKey, busKey, signed] = other;
        const fields = { enrollmentId: enrolled, publicKey, curvePublicKey };
        const rekeyed = rekeyMessage({ ...fields, busPublicKey: busKey, signedAt: signed });
        expect(Buffer.from(renewed).equals(Buffer.from(rekeyed))).toBe(false);
      }),
    );
  });
});

describe("recover", () => {
  test("what its format describes is read", () => {
    expect(readRecovery(v.parse(recoverySchema, recovery()))).toMatchObject({ id, busPublicKey });
  });

  test("any body is read with a whole signature, or refused", () => {
    const changed = fc
      .tuple(fc.constantFrom(...Object.keys(recovery()), "revoke_previous"), fc.anything({ maxDepth: 2 }))
      .map(([field, value]) => ({ ...recovery(), [field]: value }));
    fc.assert(
      fc.property(fc.oneof(fc.anything({ maxDepth: 2 }), changed), (body) => {
        const parsed = v.safeParse(recoverySchema, body);
        if (!parsed.success) return;
        const { signature, revokePrevious } = readRecovery(parsed.output);
        expect(signature).toHaveLength(64);
        expect(typeof revokePrevious).toBe("boolean");
      }),
      { numRuns: 2_000 },
    );
  });
});

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const changed = bytes.slice();
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return changed;
}
