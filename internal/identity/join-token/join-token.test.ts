import { expect, test } from "bun:test";
import fc from "fast-check";
import { systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { isJoinProof, joinProof } from "./proof.ts";
import { formatJoinToken, parseJoinToken } from "./token.ts";

const id = "jtk-3MTjXljDE3X9B12cKkqBYn3ND1Y";
const token = {
  urls: ["https://svc.example.com:8443", "https://192.0.2.7"],
  pins: [`sha256:${"ab".repeat(32)}`],
  id,
  secret: Uint8Array.from(systemRandom(32)),
};

test("a token is one word, and reads back", () => {
  const text = formatJoinToken(token);
  expect(text).toMatch(/^svcjoin1\.[A-Za-z0-9_-]+$/);
  expect(parseJoinToken("test", ` ${text}\n`)).toEqual(token);
});

const wordOf = (value: Plain) => `svcjoin1.${Buffer.from(encode(value)).toString("base64url")}`;
const damaged = "the join token is damaged or cut off";

test.each<[string, string]>([
  ["", "it is empty"],
  ["svct_abc", "this is not a join token"],
  ["svcjoin2.AAAA", "the join token was made by a later version; upgrade svc-peel"],
  ["svcjoin1.", damaged],
  ["svcjoin1.!", damaged],
  [`svcjoin1.${"A".repeat(9_000)}`, damaged],
  [wordOf({ ...token, urls: [] }), damaged],
  [wordOf({ ...token, urls: ["http://svc:8443"] }), damaged],
  [wordOf({ ...token, urls: ["https://svc:8443/path"] }), damaged],
  [wordOf({ ...token, pins: ["sha256:ab"] }), damaged],
  [wordOf({ ...token, id: "tok-1" }), damaged],
  [wordOf({ ...token, secret: token.secret.slice(1) }), damaged],
  [wordOf(5), damaged],
])("%j is refused", (text, message) => {
  expect(() => parseJoinToken("test", text)).toThrow(`test: ${message}`);
});

test("no text ends the reader in another way", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
      expect(() => parseJoinToken("test", `svcjoin1.${text}`)).toThrow("test: ");
    }),
  );
});

test("a field of a later version is ignored", () => {
  expect(parseJoinToken("test", wordOf({ ...token, later: 1 }))).toEqual(token);
});

test("a proof is for one secret, one challenge and one key", () => {
  const challenge = systemRandom(32);
  const of = { secret: token.secret, challenge, publicKey: "UA" };
  const proof = joinProof(of.secret, of.challenge, of.publicKey);
  expect(proof).toHaveLength(32);
  expect(isJoinProof(proof, of)).toBe(true);
  for (const other of [{ secret: systemRandom(32) }, { challenge: systemRandom(32) }, { publicKey: "UB" }]) {
    expect(isJoinProof(proof, { ...of, ...other })).toBe(false);
  }
  expect(isJoinProof(proof.subarray(1), of)).toBe(false);
});
