import { expect, test } from "bun:test";
import { systemRandom } from "../base/id.ts";
import { deriveCurveKey } from "./curve.ts";
import { decodePublicKey, encodePublicKey, newKeyPair } from "./nkey.ts";
import { assertPeerKeys } from "./peer-keys.ts";

const prime = 2n ** 255n - 19n;

function encoded(value: bigint): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let at = 0, rest = value; at < 32; at++, rest >>= 8n) bytes[at] = Number(rest & 255n);
  return bytes;
}

const judged = async (role: "user" | "curve", value: bigint) => {
  const key = encodePublicKey(role, encoded(value));
  return { isRead: decodePublicKey(role, key) !== undefined, refusal: await refusalOf({ key }) };
};
const refusalOf = (keys: Record<string, string>) =>
  assertPeerKeys(keys).then(
    () => undefined,
    (thrown: Error & { kind: string }) => `${thrown.kind}: ${thrown.message}`,
  );
const refused = "bad_request: key is not a usable key: not a canonical point of full order on its curve";

test("keys that peels make are accepted", async () => {
  for (let count = 0; count < 30; count++) {
    const pair = newKeyPair("user", systemRandom);
    const keys = { public_key: pair.publicKey, curve_public_key: deriveCurveKey(pair).publicKey };
    expect(await refusalOf(keys)).toBeUndefined();
  }
});

test("bytes that are not a point of Ed25519 are refused, although they can be read", async () => {
  // RFC 8032, section 5.1.3: (y² - 1) / (d y² + 1) has no square root for y = 2 and y = 7.
  for (const y of [2n, 7n]) expect(await judged("user", y)).toEqual({ isRead: true, refusal: refused });
  expect(await judged("user", 4n)).toEqual({ isRead: true, refusal: undefined });
});

test("an encoding of Ed25519 or X25519 that is not canonical is refused", async () => {
  for (let above = 2n; above < 19n; above++) {
    for (const role of ["user", "curve"] as const)
      expect(await judged(role, prime + above)).toEqual({ isRead: true, refusal: refused });
  }
  const highest = 2n ** 255n;
  expect(await judged("curve", 9n + highest)).toEqual({ isRead: true, refusal: refused });
  expect(await judged("curve", 9n)).toEqual({ isRead: true, refusal: undefined });
});

test("an X25519 key on the twist of the curve is refused: no secret key makes it", async () => {
  // u³ + 486662 u² + u has no square root for u = 2.
  expect(await judged("curve", 2n)).toEqual({ isRead: true, refusal: refused });
});

test("keys of small order and texts that are not keys are refused, and the field is named", async () => {
  for (const value of [0n, 1n, prime - 1n, prime, prime + 1n]) {
    for (const role of ["user", "curve"] as const)
      expect(await judged(role, value)).toEqual({ isRead: false, refusal: refused });
  }
  const { publicKey } = newKeyPair("user", systemRandom);
  expect(await refusalOf({ public_key: publicKey, bus_public_key: "U" })).toContain("bus_public_key is not");
});
