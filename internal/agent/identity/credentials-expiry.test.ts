import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { formatCredentials } from "../../identity/credentials.ts";
import { encodeJwt } from "../../identity/jwt.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { credentialsExpiry } from "./credentials-expiry.ts";

test("the expiry of credentials is the expiry of their JWT, if any", () => {
  using files = temporaryDirectory("expiry");
  const path = join(files.path, "p1.creds");
  const key = newKeyPair("user", systemRandom);
  const write = (expiresAt?: number) => {
    const input = { type: "user", name: "p1", subject: key.publicKey, issuedAt: 1_000, nats: {} } as const;
    const jwt = encodeJwt({ ...input, ...(expiresAt === undefined ? {} : { expiresAt }) }, key);
    writeFileSync(path, formatCredentials(jwt, key.seed));
  };
  expect(credentialsExpiry(path)).toBeUndefined();
  write(2_000);
  expect(credentialsExpiry(path)).toBe(2_000_000);
  write();
  expect(credentialsExpiry(path)).toBeUndefined();
  writeFileSync(path, "garbage");
  expect(credentialsExpiry(path)).toBeUndefined();
});
