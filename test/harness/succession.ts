import { join } from "node:path";
import { type IdentityFiles, identityFiles } from "../../internal/agent/identity/identity.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { type SignedSuccession, signSuccession } from "../../internal/identity/succession/statement.ts";

const keyOf = (fill: number) =>
  newKeyPair("user", (size) => Buffer.alloc(size).fill(`${fill}-`.padEnd(size, "k")));

/** The recovery key of every fleet of these tests. */
export const recoveryKey = keyOf(0);

export const trustFiles = (dir: string): IdentityFiles => identityFiles(dir, "web-1");

/** A statement in which every field names its serial. */
export function nthStatement(serial: number, changes: Partial<SignedSuccession> = {}): SignedSuccession {
  return signSuccession(
    {
      v: 1,
      serial,
      issued_at: "2026-01-01T00:00:00.000Z",
      ca_bundle_pem: `root ${serial}\n`,
      fingerprint: `sha256:${serial}`,
      command_keys: [keyOf(serial).publicKey],
      recovery_keys: [recoveryKey.publicKey, keyOf(serial).publicKey],
      master_urls: [`https://master-${serial}.example.com`],
      bus_urls: [`tls://bus-${serial}.example.com`],
      ...changes,
    },
    recoveryKey,
  );
}

/** A program that accepts statements until it is killed; its argument is the auth directory. */
export const acceptorMain = join(import.meta.dir, "acceptor-main.ts");
