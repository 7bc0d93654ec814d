import { expect, test } from "bun:test";
import { type HeldClaims, mergedRevocations, mergedSigningKeys } from "./held-claims.ts";
import type { Revocation } from "./revocations.ts";

const now = 3_610_000;
const held = (revoked: Record<string, number>, signingKeys: string[] = []): HeldClaims => {
  const map = new Map(Object.entries(revoked));
  return { issuedAt: 1, revoked: map, refuses: map, imports: new Set(), signingKeys };
};
const entry = (busPublicKey: string, more: Partial<Revocation> = {}): [string, Revocation] => [
  busPublicKey,
  { busPublicKey, peelId: "a", enrollmentId: "", revokedAt: 5_000, expiresAt: 30_000, ...more },
];

test("what a server refuses stays until it is over or lifted, whatever this master has seen", () => {
  const servers = [held({ over: 10, other: 20 }), held({ lifted: 40 })];
  const entries = new Map([entry("own"), entry("lifted", { suspension: true, liftedAt: 3_600_000 })]);
  expect(Object.fromEntries(mergedRevocations(servers, entries, now))).toEqual({ other: 20, own: 30 });
});

test("a signing key stays until it is known to be dropped", () => {
  const servers = [held({}, ["b", "gone"]), held({}, ["c"])];
  expect(mergedSigningKeys(servers, { wanted: ["a"], dropped: ["gone"] })).toEqual(["a", "b", "c"]);
});
