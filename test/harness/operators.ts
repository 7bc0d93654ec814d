import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInbox } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { fromOperatorSubject } from "../../internal/base/names/operator-subject.ts";
import { encodeOperatorUser, operatorInboxPrefix } from "../../internal/bus/accounts/operator-users.ts";
import { operatorsSeedFile } from "../../internal/bus/accounts/operators-key.ts";
import type { Bus } from "../../internal/bus/connection/mod.ts";
import { subjectsOfScopes } from "../../internal/doors/rooms/grants.ts";
import { readClaims } from "../../internal/identity/jwt.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
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
 * Sends a request below the key of an operator, with a reply subject that is the operator's: as its own connection does.
 *
 * @param nats a connection that may publish and subscribe there, such as that of a master
 * @returns the reply
 */
export async function requestAs(
  { nats }: Pick<Bus, "nats">,
  { key: { publicKey } }: { key: Pick<KeyPair, "publicKey"> },
  subject: string,
  request: Uint8Array,
  timeout = 30_000,
): Promise<Uint8Array> {
  const reply = createInbox(operatorInboxPrefix(publicKey));
  const options = { timeout, noMux: true, reply };
  return (await nats.request(fromOperatorSubject(publicKey, subject), request, options)).data;
}

const day = 24 * 3600;

/** Writes the file of an operator, whose JWT the bus accepts with every subject of operators, and returns its path. */
export function writeOperatorFile(
  bus: Pick<TestBus, "dir" | "url" | "caPem" | "authDir">,
  operator: TestOperator,
  given: { fleet?: string } = {},
): string {
  const { name, key } = operator;
  runRecord.register("seed", key.seed);
  // Next to auth, as svc init has it: svc finds direct.creds from there.
  const dir = join(bus.dir, "operator");
  makeDirectory(dir, 0o700);
  const path = join(dir, `${name}.operator`);
  const text = (file: string) => readFileSync(join(bus.authDir, file), "utf8").trim();
  const account = readClaims(text("masters.jwt")).sub;
  const { fleet = account } = given;
  const issuedAt = Math.floor(systemClock.now() / 1000);
  const times = { issuedAt, expiresAt: issuedAt + 30 * day };
  const jwt = encodeOperatorUser(
    { name, publicKey: key.publicKey, scopes: Object.keys(subjectsOfScopes), ...times },
    { ...keyPairFromSeed("account", text(operatorsSeedFile)), issuerAccount: account },
    subjectsOfScopes,
  );
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
