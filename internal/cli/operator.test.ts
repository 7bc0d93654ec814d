import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { svc } from "../../test/harness/svc.ts";
import { temporaryDirectory } from "../../test/harness/temporary.ts";
import { secretMode, writeFileAtomic } from "../base/files/file.ts";
import { systemRandom } from "../base/id.ts";
import { formatCredentials } from "../identity/credentials.ts";
import { encodeJwt } from "../identity/jwt.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { formatOperatorFile } from "../identity/operator-file.ts";

const directory = temporaryDirectory("operator-fleet");
afterAll(() => directory[Symbol.dispose]());
const at = (name: string) => join(directory.path, name);
const newAccount = () => newKeyPair("account", systemRandom);
const [own, other, signing] = [newAccount(), newAccount(), newAccount()];
const key = newKeyPair("user", systemRandom);
const jwtOf = (signer: Parameters<typeof encodeJwt>[1]) =>
  encodeJwt({ type: "user", name: "anna", subject: key.publicKey, issuedAt: 0, nats: {} }, signer);

/** A configuration with credentials of one fleet, and an operator file of another one. No bus answers there. */
function configuration(signer: Parameters<typeof encodeJwt>[1], fleet: string): string {
  const file = { fleet, busUrls: ["tls://127.0.0.1:9"], caPem: "", name: "anna", publicKey: key.publicKey };
  writeFileAtomic(at("anna.operator"), formatOperatorFile({ ...file, jwt: jwtOf(own), key }), secretMode);
  writeFileAtomic(at("admin.creds"), formatCredentials(jwtOf(signer), key.seed), secretMode);
  const master = {
    ...{ urls: ["tls://127.0.0.1:9"], creds_file: at("admin.creds") },
    operator_file: at("anna.operator"),
  };
  writeFileAtomic(at("svc.yaml"), JSON.stringify({ master }), secretMode);
  return at("svc.yaml");
}

test.each([
  ["the account itself signed the credentials", other],
  ["a signing key of the account did", { ...signing, issuerAccount: other.publicKey }],
])("an operator file of another fleet than the credentials says which fleets: %s", async (_, signer) => {
  const ran = await svc(["--config", configuration(signer, own.publicKey), "job", "list"]);
  expect([ran.exit, ran.stderr]).toEqual([
    1,
    `svc: ${at("anna.operator")} is an operator file of the fleet ${own.publicKey}, and this is the fleet ${other.publicKey}: use the file that was made for it\n`,
  ]);
});

test("one of the same fleet continues to the bus", async () => {
  const signer = { ...signing, issuerAccount: own.publicKey };
  const ran = await svc(["--config", configuration(signer, own.publicKey), "job", "list"]);
  expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining("127.0.0.1:9")]);
});
