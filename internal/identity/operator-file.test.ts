import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../test/harness/temporary.ts";
import { systemRandom } from "../base/id.ts";
import { encodeJwt } from "./jwt.ts";
import { newKeyPair } from "./nkey.ts";
import { assertFleetOf, readOperatorFile } from "./operator-file.ts";

const files = temporaryDirectory("operator-file");
afterAll(() => files[Symbol.dispose]());
const key = newKeyPair("user", systemRandom);
const other = newKeyPair("user", systemRandom);
const account = newKeyPair("account", systemRandom);
const jwtOf = (subject: string) =>
  encodeJwt({ type: "user", name: "ann", subject, issuedAt: 0, nats: {} }, account);
const content = {
  fleet: "ACME",
  bus_urls: ["tls://bus-1:4222", "tls://bus-2:4222"],
  ca_pem: "-----BEGIN CERTIFICATE-----\n",
  name: "ann",
  public_key: key.publicKey,
  jwt: jwtOf(key.publicKey),
  seed: key.seed,
};
let count = 0;

function write(value: unknown, mode = 0o600): string {
  const path = join(files.path, `${++count}.operator`);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value), { mode });
  chmodSync(path, mode);
  return path;
}

test("a file is read as it is, with and without a seed, and for its own fleet", () => {
  const { seed: _, ...bare } = content;
  const wanted = { fleet: "ACME", busUrls: content.bus_urls, name: "ann", publicKey: key.publicKey };
  const read = readOperatorFile(write(content));
  assertFleetOf(read, "x", "ACME");
  expect(read).toMatchObject({ ...wanted, caPem: content.ca_pem, jwt: content.jwt });
  expect(read.key?.seed).toBe(key.seed);
  expect(readOperatorFile(write({ ...bare, ca_pem: "" }))).toEqual({
    ...wanted,
    caPem: "",
    jwt: content.jwt,
  });
});

describe("refused, in one line, without the seed:", () => {
  const cases: [why: string, path: () => string, says: string, fleet?: string][] = [
    [
      "readable by others",
      () => write(content, 0o640),
      "has the mode 0640, so others may read your key: chmod 0600",
    ],
    ["of another fleet", () => write(content), "of the fleet ACME, and this is the fleet OTHER", "OTHER"],
    ["missing", () => join(files.path, "none"), "cannot read the operator file"],
    ["a directory", () => files.path, "the operator file"],
    [
      "an unknown key",
      () => write({ ...content, sead: key.seed }),
      'unknown key "sead" (did you mean seed?)',
    ],
    ["without a name", () => write({ ...content, name: undefined }), "name is missing"],
    ["another seed", () => write({ ...content, seed: other.seed }), "seed: it is not the seed of public_key"],
    ["a seed of an account", () => write({ ...content, seed: account.seed }), "seed: it is not the seed"],
    [
      "a JWT for another key",
      () => write({ ...content, jwt: jwtOf(other.publicKey) }),
      "jwt: it is for another key",
    ],
    ["no JWT", () => write({ ...content, jwt: "x.y.z" }), "jwt: it is for another key"],
    [
      "a key of an account",
      () => write({ ...content, public_key: account.publicKey }),
      "public_key: expected a key",
    ],
    ["no address", () => write({ ...content, bus_urls: [] }), "bus_urls: expected a URL at least"],
    ["a plaintext address", () => write({ ...content, bus_urls: ["nats://bus:4222"] }), "bus_urls"],
    ["a list", () => write([content]), "expected a map, found a list"],
    ["no YAML", () => write("{"), ".operator:"],
    ["a huge file", () => write(`#${"x".repeat(300_000)}`), "is too large for an operator file"],
  ];
  for (const [why, path, says, fleet] of cases) {
    test(why, () => {
      let message = "accepted";
      try {
        const named = path();
        const read = readOperatorFile(named);
        if (fleet !== undefined) assertFleetOf(read, named, fleet);
      } catch (thrown) {
        message = thrown instanceof Error ? thrown.message : "";
      }
      expect(message).toInclude(says);
      expect(message).not.toInclude("\n");
      for (const { seed } of [key, other, account]) expect(message).not.toInclude(seed);
    });
  }
});
