import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { type KeyPair, newKeyPair } from "../../internal/identity/nkey.ts";
import { nonceBytes, signRequest } from "../../internal/wire/signed-request.ts";
import type { RequestRegistry } from "../../internal/wire/verify-request.ts";
import type { TestBus } from "./bus.ts";
import { runRecord } from "./run-record.ts";

/** An operator with a key of its own. */
export interface TestOperator {
  name: string;
  key: KeyPair;
  roles: readonly string[];
}

export function newOperator(name: string, roles: readonly string[] = ["admin"]): TestOperator {
  return { name, key: newKeyPair("user", systemRandom), roles };
}

/** A registry with these operators and no others. */
export function registryOf(...operators: readonly TestOperator[]): RequestRegistry {
  return {
    judge(name, key) {
      const known = operators.find((one) => one.name === name);
      if (known === undefined) return { refused: `the operator ${name} does not exist` };
      if (known.key.publicKey !== key) return { refused: `${name} has another key` };
      return { operator: { name, publicKey: key, roles: known.roles } };
    },
  };
}

/** Signs a request as `svc` does. @param off how far the clock of the operator is off, milliseconds */
export function signedBy(
  { name, key }: TestOperator,
  subject: string,
  body: Uint8Array,
  off = 0,
): Uint8Array {
  const sentAt = systemClock.now() + off;
  return signRequest(subject, { body, operator: name, sentAt, nonce: systemRandom(nonceBytes) }, key);
}

/**
 * Writes the file of an operator, and returns its path. Its JWT is one that no server accepts.
 *
 * @param options.issuedAt of the JWT, milliseconds since the Unix epoch; without it the JWT is due for renewal
 */
export function writeOperatorFile(
  bus: Pick<TestBus, "dir" | "url" | "caPem" | "authDir">,
  operator: TestOperator,
  {
    fleet = readClaims(readFileSync(join(bus.authDir, "masters.jwt"), "utf8").trim()).sub,
    issuedAt = 0,
  }: { fleet?: string; issuedAt?: number } = {},
): string {
  const { name, key } = operator;
  runRecord.register("seed", key.seed);
  const path = join(bus.dir, `${name}.operator`);
  const claims = { type: "user", name, subject: key.publicKey, issuedAt, nats: {} } as const;
  const jwt = encodeJwt(claims, newKeyPair("account", systemRandom));
  const file = {
    fleet,
    bus_urls: [bus.url],
    ca_pem: bus.caPem,
    name,
    public_key: key.publicKey,
    jwt,
  };
  writeFileAtomic(path, JSON.stringify({ ...file, seed: key.seed }), secretMode);
  return path;
}
