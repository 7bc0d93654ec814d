import { decodeBase64 } from "../../base/base64.ts";
import { Reader } from "./reader.ts";
import { refused } from "./refused.ts";
import { readKeyFields, readSshKeyBlob, type SshPublicKey } from "./ssh-key.ts";
import { isSshSigned } from "./ssh-signature.ts";

/** A certificate of a host key by an SSH authority (PROTOCOL.certkeys of OpenSSH). */
export interface SshCertificate {
  /** The encoding of the certified key. */
  keyDer: Buffer;
  authority: SshPublicKey;
  keyId: string;
  serial: bigint;
  principals: readonly string[];
  /** Seconds since the Unix epoch: valid from the first, until before the second. */
  validAfter: bigint;
  validBefore: bigint;
  isForHosts: boolean;
  hasCriticalOptions: boolean;
}

const suffix = "-cert-v01@openssh.com";
const hostType = 2;
const maxPrincipals = 256;

/**
 * Reads a certificate, and verifies that its authority signed it. Whether that authority counts, and for which
 * hosts, is up to the caller.
 *
 * @param text `<type> <base64>`, with or without a comment
 * @throws SvcError `unauthorized` with the reason
 */
export function readSshCertificate(text: string): SshCertificate {
  const malformed = () => refused("the SSH certificate is malformed");
  const [name = "", encoded = ""] = text.trim().split(/[ \t]+/, 2);
  const blob = decodeBase64(encoded);
  if (blob === undefined || !name.endsWith(suffix)) throw malformed();
  const reader = new Reader(blob);
  if (reader.sshText() !== name) throw malformed();
  reader.sshString();
  const type = name.slice(0, -suffix.length);
  const key = type === "ssh-rsa" ? undefined : readKeyFields(type, reader);
  const [serial, kind, keyId] = [reader.u64(), reader.u32(), reader.sshText()];
  const principals = readList(reader.sshString());
  const [validAfter, validBefore] = [reader.u64(), reader.u64()];
  const critical = reader.sshString();
  const [extensions, reserved, signer] = [reader.sshString(), reader.sshString(), reader.sshString()];
  const signed = blob.subarray(0, reader.position);
  const signature = reader.sshString();
  const authority = signer === undefined ? undefined : readSshKeyBlob(signer);
  if (!reader.done || key === undefined || authority === undefined || signature === undefined)
    throw malformed();
  if (serial === undefined || keyId === undefined || principals === undefined) throw malformed();
  if (validAfter === undefined || validBefore === undefined || critical === undefined) throw malformed();
  if (extensions === undefined || reserved === undefined) throw malformed();
  if (!isSshSigned(authority, signed, signature)) {
    throw refused("the SSH certificate is not signed by the authority that it names");
  }
  return {
    keyDer: key.export({ type: "spki", format: "der" }),
    ...{ authority, keyId, serial, principals, validAfter, validBefore },
    isForHosts: kind === hostType,
    hasCriticalOptions: critical.length > 0,
  };
}

/** Texts one after the other; `undefined` when one is cut off. */
function readList(bytes: Uint8Array | undefined): string[] | undefined {
  if (bytes === undefined) return undefined;
  const reader = new Reader(bytes);
  const found: string[] = [];
  while (!reader.done) {
    const text = reader.sshText();
    if (text === undefined || found.length === maxPrincipals) return undefined;
    found.push(text);
  }
  return found;
}
