import { generateKeyPairSync, sign } from "node:crypto";
import { rfc3339, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import type { Bus } from "../../internal/bus/connection/mod.ts";
import { openBucket } from "../../internal/bus/storage/mod.ts";
import { certificateMessage } from "../../internal/fleet/sites/mod.ts";
import { encodeSite } from "../../internal/fleet/sites/record.ts";
import { type KeyPair, newKeyPair } from "../../internal/identity/mod.ts";
import { macOf } from "./vouchers.ts";

/** The body of a request for a certificate, as the server of a site sends it. @param key of its link */
export function certificateRequest(site: string, key: KeyPair) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = publicKey.export({ format: "der", type: "spki" });
  const signedAt = rfc3339(systemClock.now());
  const message = certificateMessage({ site, publicKey: der, signedAt });
  const signed = sign("sha256", message, { key: privateKey, dsaEncoding: "ieee-p1363" });
  return {
    public_key: der.toString("base64"),
    signed_at: signedAt,
    signature: Buffer.from(key.sign(message)).toString("base64"),
    proof: signed.toString("base64"),
  };
}

/** Stores a site as a master does. @returns the key of its link */
export async function storeSite(bus: Bus, authDir: string, name: string): Promise<KeyPair> {
  const key = newKeyPair("user", systemRandom);
  const account = () => newKeyPair("account", systemRandom).publicKey;
  const record = encodeSite(macOf({ authDir }), {
    ...{ name, urls: [`tls://${name}.example.com:4222`], account: account(), systemSigner: account() },
    ...{ users: { link: key.publicKey, system: key.publicKey }, jwts: { link: "a", system: "b" } },
    ...{ createdAt: systemClock.now(), createdBy: "ann", former: [] },
  });
  await (await openBucket(bus, "sites")).put(name, record);
  return key;
}
