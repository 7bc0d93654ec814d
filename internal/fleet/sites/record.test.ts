import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { decodeSite, encodeSite, type SiteRecord } from "./record.ts";

const mac = createRecordMac(newKeyPair("account", systemRandom));
const user = () => newKeyPair("user", systemRandom).publicKey;
const account = () => newKeyPair("account", systemRandom).publicKey;
const site: SiteRecord = {
  ...{ name: "berlin", urls: ["tls://leaf.example.com:4222"], account: account() },
  ...{ users: { link: user(), system: user() }, systemSigner: account(), jwts: { link: "a", system: "b" } },
  ...{ createdAt: 1_000, createdBy: "ann", former: [{ account: account(), system: user() }] },
};

test.each([
  ["there", site],
  ["removed", { ...site, removedAt: 2_000 }],
])("a site that is %s is read as it was written", (_, one) => {
  expect(decodeSite(mac, "berlin", encodeSite(mac, one))).toEqual(one);
});

test("an attacker who controls the bus can neither change a site, nor bring back a removed one, nor rename it", () => {
  const bytes = encodeSite(mac, { ...site, removedAt: 2_000 });
  const { removed_at: _, ...open } = decode(bytes) as Record<string, unknown>;
  expect(decodeSite(mac, "berlin", encode(open))).toBeUndefined();
  const renewed = { ...(decode(bytes) as object), urls: ["tls://other.example.com:4222"] };
  expect(decodeSite(mac, "berlin", encode(renewed))).toBeUndefined();
  expect(decodeSite(mac, "munich", bytes)).toBeUndefined();
  const foreign = createRecordMac(newKeyPair("account", systemRandom));
  expect(decodeSite(mac, "berlin", encodeSite(foreign, site))).toBeUndefined();
});

test.each([[{}], [{ v: 1, name: "Berlin!" }], ["text"]])("what is malformed is an error: %#", (value) => {
  expect(() => decodeSite(mac, "berlin", encode(value))).toThrow();
});
