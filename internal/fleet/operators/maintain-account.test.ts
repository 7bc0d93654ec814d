import { expect, test } from "bun:test";
import { operatorScope } from "../../bus/accounts/mod.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { wantedNats } from "./maintain-account.ts";

const keyOf = (role: "user" | "account", byte: number) =>
  newKeyPair(role, () => new Uint8Array(32).fill(byte)).publicKey;
const [anna, bert] = [keyOf("user", 1), keyOf("user", 2)] as const;
const signingKey = keyOf("account", 3);
const base = { type: "account", version: 2 as const, exports: [{ subject: "svc.>" }], limits: { subs: -1 } };
const entry = (publicKey: string, revokedAt: number, liftedAt?: number) => ({
  ...{ publicKey, name: "anna", revokedAt },
  ...(liftedAt === undefined ? {} : { liftedAt }),
});

test("revocations are added, and everything else in the claims stays", () => {
  const nats = { ...base, revocations: { [bert]: 5 }, later: [1] };
  expect(wantedNats({ nats }, [entry(anna, 7_900)], { now: 0 })).toEqual({
    ...nats,
    revocations: { [bert]: 5, [anna]: 7 },
  });
});

test("a revocation on the bus is never made shorter, unless it was lifted", () => {
  const nats = { ...base, revocations: { [anna]: 9 } };
  expect(wantedNats({ nats }, [entry(anna, 7_000)], { now: 0 })).toEqual(nats);
  expect(wantedNats({ nats }, [], { now: 0 })).toEqual(nats);
  expect(wantedNats({ nats }, [entry(anna, 9_000, 10_000)], { now: 0 }).revocations).toEqual({});
});

test("who is disabled stays revoked when the entry of the revocation is gone", () => {
  const options = { disabled: [anna], now: 12_345 };
  expect(wantedNats({ nats: base }, [], options).revocations).toEqual({ [anna]: 12 });
  const nats = { ...base, revocations: { [anna]: 9 } };
  expect(wantedNats({ nats }, [], options)).toEqual(nats);
});

test("the signing key is added next to others, once, and what is complete stays as it is", () => {
  const other = { ...operatorScope(keyOf("account", 4)) };
  const nats = { ...base, signing_keys: ["A-plain", other] };
  const wanted = wantedNats({ nats }, [], { signingKey, now: 0 });
  expect(wanted.signing_keys).toEqual(["A-plain", other, operatorScope(signingKey)]);
  expect(JSON.stringify(wantedNats({ nats: wanted }, [], { signingKey, now: 0 }))).toBe(
    JSON.stringify(wanted),
  );
});

test("a template of another version gets what it lacks, and keeps what it has in addition", () => {
  const own = operatorScope(signingKey) as { template: { pub: { allow: string[]; deny: string[] } } };
  const [first = "", ...rest] = own.template.pub.allow;
  const held = {
    ...own,
    template: { ...own.template, pub: { ...own.template.pub, allow: ["svc.later", first] } },
  };
  const nats = { ...base, signing_keys: [held] };
  const [merged] = wantedNats({ nats }, [], { signingKey, now: 0 }).signing_keys as (typeof own)[];
  expect(merged?.template.pub.allow).toEqual(["svc.later", first, ...rest]);
  expect(merged?.template.pub.deny).toEqual(own.template.pub.deny);
});

test("a key without a template, which could sign everything, gets one", () => {
  const nats = { ...base, signing_keys: [signingKey] };
  expect(wantedNats({ nats }, [], { signingKey, now: 0 }).signing_keys).toEqual([operatorScope(signingKey)]);
});
