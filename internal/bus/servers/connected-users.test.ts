import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { encodeJwt } from "../../identity/jwt.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { readUser } from "./connected-users.ts";

const account = newKeyPair("account", systemRandom);
const subject = newKeyPair("user", systemRandom).publicKey;
const jwtOf = (name: string) => encodeJwt({ type: "user", name, subject, issuedAt: 1, nats: {} }, account);

test.each([
  ["as servers of 2.9 report it", jwtOf("web-1"), "web-1", "web-1"],
  ["as newer servers report it, with the name of the account", jwtOf("web-1"), "peels", "web-1"],
  ["without a JWT", "", "web-1", "web-1"],
  ["with something that is not a JWT", "a.b", "web-1", "web-1"],
])("the name of a user %s", (_, jwt, tag, name) => {
  expect(readUser(subject, jwt, tag)).toEqual({ user: subject, name, jwt, reported: subject });
});

test("a user has the key of its JWT, whatever its client told the server", () => {
  const other = newKeyPair("user", systemRandom).publicKey;
  expect(readUser(other, jwtOf("web-1"), "peels")).toMatchObject({ user: subject, reported: other });
});
