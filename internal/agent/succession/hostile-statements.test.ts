import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { testAuthority } from "../../../test/harness/impostor.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { type SignedSuccession, signSuccession } from "../../identity/succession/mod.ts";
import { judgeSuccession } from "./judge.ts";

// Statements of succession as any server can offer them: a peel fetches them without trusting the connection.

const recovery = newKeyPair("user", systemRandom);
const thief = newKeyPair("user", systemRandom);
const judging = { recoveryKeys: [recovery.publicKey], serial: 4 };
let valid: SignedSuccession;

beforeAll(async () => {
  const { rootPem, pin } = await testAuthority("successor");
  valid = signSuccession(
    {
      ...{ v: 1, serial: 5, issued_at: "2026-01-01T00:00:00.000Z", ca_bundle_pem: rootPem, fingerprint: pin },
      command_keys: [newKeyPair("user", systemRandom).publicKey],
      recovery_keys: [recovery.publicKey],
      master_urls: ["https://svc.example.com:8443"],
      bus_urls: ["tls://svc.example.com:4222"],
    },
    recovery,
  );
});

function isRefused(value: unknown): boolean {
  try {
    judgeSuccession(value, judging);
    return false;
  } catch (thrown) {
    if (thrown instanceof SvcError && ["bad_request", "forbidden"].includes(thrown.kind)) return true;
    throw thrown;
  }
}

test("the statement that the others are made of is accepted, also with fields of a later version", () => {
  expect([isRefused(valid), isRefused({ ...valid, later: [1] })]).toEqual([false, false]);
});

test("any value is refused, and nothing else is thrown", () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 3 }), (value) => isRefused(value)),
    { numRuns: 3_000 },
  );
});

test("any field with another value is refused", () => {
  const value = fc.oneof(fc.anything({ maxDepth: 2 }), fc.jsonValue(), fc.constant(undefined));
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(valid)), value, (field, other) => {
      const before = valid[field as keyof SignedSuccession];
      return Bun.deepEquals(other, before) || isRefused({ ...valid, [field]: other });
    }),
    { numRuns: 3_000 },
  );
});

test("any byte of any text with another value is refused", () => {
  const texts = Object.entries(valid).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...texts),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 1 }),
      (text, at, other) => {
        const [field, before] = text;
        const where = at % before.length;
        const changed = before.slice(0, where) + other + before.slice(where + 1);
        return changed === before || isRefused({ ...valid, [field]: changed });
      },
    ),
    { numRuns: 3_000 },
  );
});

test("a holder of every key of a master, but no recovery key, makes no statement", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), (serial) => {
      const { signature: _, key: __, ...statement } = valid;
      const own = signSuccession({ ...statement, serial, recovery_keys: [thief.publicKey] }, thief);
      return isRefused(own) && isRefused({ ...own, key: recovery.publicKey });
    }),
    { numRuns: 200 },
  );
});

test("only a serial greater than the last one is accepted", () => {
  const { signature: _, key: __, ...statement } = valid;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), (serial) => {
      return isRefused(signSuccession({ ...statement, serial }, recovery)) === serial <= judging.serial;
    }),
  );
});
