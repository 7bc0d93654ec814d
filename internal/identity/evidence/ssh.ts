import { decodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Claim, Proven } from "./claim.ts";
import type { KnownHosts } from "./known-hosts.ts";
import { evidenceMessage } from "./message.ts";
import { refused } from "./refused.ts";
import { shownText, shownTexts } from "./shown-text.ts";
import { readSshCertificate, type SshCertificate } from "./ssh-certificate.ts";
import { readSshPublicKey, type SshPublicKey } from "./ssh-key.ts";
import { isSshSigned } from "./ssh-signature.ts";

/** The host key of SSH, and a signature by it. */
export interface SshEvidence {
  /** `<type> <base64>`. */
  publicKey: string;
  /** `<type>-cert-v01@openssh.com <base64>`, of an authority. */
  certificate?: string;
  /** Base64 of a signature blob of SSH. */
  signature: string;
}

export interface SshRules {
  known: KnownHosts;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/**
 * Verifies evidence of kind `ssh`: the key is listed for the host, or a certificate of a listed authority is.
 *
 * @throws SvcError `unauthorized` with the reason
 */
export function verifySsh(evidence: SshEvidence, claim: Claim, { known, now }: SshRules): Proven {
  const key = readSshPublicKey(evidence.publicKey);
  if (key === undefined || key.type === "ssh-rsa") {
    throw refused("public_key is not an ssh-ed25519 or ecdsa-sha2 key of SSH");
  }
  const certificate =
    evidence.certificate === undefined ? undefined : readSshCertificate(evidence.certificate);
  const signature = decodeBase64(evidence.signature);
  const message = evidenceMessage("ssh", claim.challenge, claim.publicKey);
  if (signature === undefined || !isSshSigned(key, message, signature)) {
    throw refused("the signature is not by the SSH host key over this challenge and this public key");
  }
  if (known.revokes(key.blob)) throw refused("the SSH host key is revoked");
  const fields = { key_type: key.type, fingerprint: fingerprintOf(key), host: claim.host };
  // As in OpenSSH, a key that is listed itself needs no authority.
  if (known.lists(claim.host, key.blob)) return { type: "ssh", fields };
  if (certificate === undefined) {
    throw refused("the SSH host key is not listed for this host in known_hosts, or the list has another key");
  }
  checkCertificate(certificate, key, claim.host, { known, now });
  return { type: "ssh", fields: { ...fields, ...fieldsOf(certificate) } };
}

function checkCertificate(
  certificate: SshCertificate,
  key: SshPublicKey,
  host: string,
  { known, now }: SshRules,
): void {
  const { authority, keyDer } = certificate;
  const seconds = BigInt(Math.floor(now / 1000));
  if (!keyDer.equals(key.key.export({ type: "spki", format: "der" }))) {
    throw refused("the SSH certificate is for another key");
  }
  if (known.revokes(authority.blob)) throw refused("the authority of the SSH certificate is revoked");
  if (!known.listsAuthority(host, authority.blob)) {
    throw refused("neither the SSH host key nor the authority of its certificate is listed for this host");
  }
  if (!certificate.isForHosts) throw refused("the SSH certificate is not for a host");
  if (seconds < certificate.validAfter) throw refused("the SSH certificate is not valid yet");
  if (seconds >= certificate.validBefore) throw refused("the SSH certificate has expired");
  // OpenSSH defines none for hosts, and one that is not understood must be refused.
  if (certificate.hasCriticalOptions) throw refused("the SSH certificate has critical options");
  if (!certificate.principals.some((name) => name.toLowerCase() === host.toLowerCase())) {
    throw refused("the SSH certificate was issued for another host: none of its principals is the peel ID");
  }
}

function fieldsOf({ authority, keyId, serial, principals, validBefore }: SshCertificate) {
  const names = shownTexts(principals, "the principals");
  const end = Number(validBefore) * 1000;
  return {
    authority: fingerprintOf(authority),
    key_id: shownText(keyId, "the key ID"),
    serial: String(serial),
    ...(names === undefined ? {} : { names }),
    // A certificate without an end has the largest number there.
    ...(end > 253_402_300_799_000 ? {} : { not_after: rfc3339(end) }),
  };
}

/** As `ssh-keygen -l` shows it. */
function fingerprintOf({ blob }: SshPublicKey): string {
  return `SHA256:${sha256(blob).toString("base64").replace(/=+$/, "")}`;
}
