import { beforeAll, expect, test } from "bun:test";
import { type TestAuthority, testAuthority } from "../../../test/harness/impostor.ts";
import { nthStatement, recoveryKey } from "../../../test/harness/succession.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { type SignedSuccession, signSuccession } from "../../identity/succession/mod.ts";
import { judgeSuccession } from "./judge.ts";

let next: TestAuthority;
let other: TestAuthority;
beforeAll(async () => {
  [next, other] = await Promise.all([testAuthority("Next"), testAuthority("Other")]);
});

const good = (changes: Partial<SignedSuccession> = {}) =>
  nthStatement(3, { ca_bundle_pem: next.rootPem, fingerprint: next.pin, ...changes });
const trust = { recoveryKeys: [recoveryKey.publicKey], serial: 2 };

test("a statement that the recovery key signed, newer than the last one, is accepted", () => {
  const statement = good({ bus_urls: ["tls://localhost:4222"], master_urls: ["https://127.0.0.1:8443/"] });
  expect(judgeSuccession(JSON.parse(JSON.stringify(statement)), trust)).toEqual(statement);
});

test("a thief has every key of the fleet but that one", () => {
  const thief = newKeyPair("user", systemRandom);
  const { signature: _, key: __, ...fields } = good();
  const own = signSuccession(fields, thief);
  expect(() => judgeSuccession(own, trust)).toThrow("is not a recovery key of this peel");
  expect(() => judgeSuccession({ ...own, key: recoveryKey.publicKey }, trust)).toThrow(
    "its signature is not valid",
  );
  expect(() => judgeSuccession({ ...good(), master_urls: ["https://thief"] }, trust)).toThrow(
    "its signature is not valid",
  );
  expect(() => judgeSuccession(good(), { ...trust, recoveryKeys: [] })).toThrow("is not a recovery key");
});

test("an old statement is refused, and the same one", () => {
  for (const serial of [3, 4, 100]) {
    expect(() => judgeSuccession(good(), { ...trust, serial })).toThrow(
      `its serial 3 is not greater than ${serial}`,
    );
  }
});

test("one that no peel could use is refused, although it is signed", () => {
  const cases: [Partial<SignedSuccession>, string][] = [
    [{ fingerprint: other.pin }, "its CA does not have its fingerprint"],
    [{ ca_bundle_pem: "junk" }, "its CA does not have its fingerprint"],
    [{ master_urls: ["http://a"] }, "one of its master URLs"],
    [{ master_urls: ["https://u:p@a"] }, "one of its master URLs"],
    [{ master_urls: ["https://a/b"] }, "one of its master URLs"],
    [{ master_urls: ["x"] }, "one of its master URLs"],
    [{ bus_urls: ["nats://a"] }, "one of its bus URLs"],
  ];
  for (const [change, reason] of cases) expect(() => judgeSuccession(good(change), trust)).toThrow(reason);
});

test.each([[null], [5], ["x"], [[]], [{}]])("what is not a statement is refused: %p", (value) => {
  expect(() => judgeSuccession(value, trust)).toThrow("malformed at");
});
