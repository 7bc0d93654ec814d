import { expect, test } from "bun:test";
import { newKeyPair } from "../../identity/nkey.ts";
import { assertSeen } from "./sign.ts";

const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const [mine, another, anna, eve] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)] as const;
const signer = { name: "root", key: mine };
const known = (publicKey: string, signedBy?: string) => ({
  record: { name: "anna", publicKey, roles: ["admin"], createdAt: 0, createdBy: "root", version: 2 },
  nextVersion: 2,
  dependents: [],
  ...(signedBy === undefined ? {} : { signedBy }),
});

test.each([
  ["what this administrator signed before", known(anna.publicKey, mine.publicKey), undefined, true],
  ["what another one signed", known(anna.publicKey, another.publicKey), undefined, false],
  ["what nobody signed", known(eve.publicKey), undefined, false],
  ["a key that was compared", known(anna.publicKey, another.publicKey), anna.publicKey, true],
  [
    "another key than the one that was compared",
    known(eve.publicKey, another.publicKey),
    anna.publicKey,
    false,
  ],
  [
    "another key than the one that was compared, in a record of this administrator",
    known(eve.publicKey, mine.publicKey),
    anna.publicKey,
    false,
  ],
])("%s is signed: %#", (_, answer, compared, isSigned) => {
  const sign = () => assertSeen(answer, signer, compared);
  if (isSigned) expect(sign).not.toThrow();
  else expect(sign).toThrow(`the key ${answer.record.publicKey}: compare the key with anna`);
});
