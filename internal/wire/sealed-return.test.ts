import { expect, test } from "bun:test";
import { systemRandom } from "../base/id.ts";
import { encode } from "../base/msgpack.ts";
import { deriveCurveKey } from "../identity/curve.ts";
import { curvePublicKeyOf } from "../identity/curve-public-key.ts";
import { type KeyPair, newKeyPair } from "../identity/nkey.ts";
import { openSealed, seal } from "../identity/seal.ts";
import { openReturn, sealReturn } from "./sealed-return.ts";

const [ann, ben] = [newKeyPair("user", systemRandom), newKeyPair("user", systemRandom)];
const curveOf = (key: KeyPair) => curvePublicKeyOf(key.publicKey) ?? "";
const of = { jid: "job-1", peel: "web-1_example" };
const value = { db: { password: "s3cret" }, ports: [1, 2], raw: Buffer.of(1, 2), none: null };
const sealed = sealReturn(value, curveOf(ann), of, systemRandom);
const unseal = (key: KeyPair) => (box: Uint8Array, purpose: Uint8Array) =>
  openSealed(box, deriveCurveKey(key), purpose);

test("the operator who requested a job reads the value, and the box does not show it", () => {
  expect(openReturn(sealed, of, unseal(ann))).toEqual(value);
  expect(Buffer.from(sealed).includes("s3cret")).toBe(false);
});

test("another operator, another job, another peel and another purpose do not open it", () => {
  const refused = "for another key or purpose, or was modified";
  expect(() => openReturn(sealed, of, unseal(ben))).toThrow(refused);
  for (const other of [
    { ...of, jid: "job-2" },
    { ...of, peel: "web-2_example" },
    { jid: of.peel, peel: of.jid },
  ]) {
    expect(() => openReturn(sealed, other, unseal(ann))).toThrow(refused);
  }
  const purposes = ["svc/return/v1\0job-1", "svc/settings/v1\0settings\0web-1_example"];
  for (const purpose of purposes) {
    const box = seal(encode(value), curveOf(ann), Buffer.from(purpose), systemRandom);
    expect(() => openReturn(box, of, unseal(ann))).toThrow(refused);
  }
  const exact = Buffer.from("svc/return/v1\0job-1\0web-1_example");
  expect(openReturn(seal(encode(1), curveOf(ann), exact, systemRandom), of, unseal(ann))).toBe(1);
});

test("a changed box is refused, wherever it was changed", () => {
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => openReturn(changed, of, unseal(ann))).toThrow();
  }
});
