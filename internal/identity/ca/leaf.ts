import { createHash, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { parseIp } from "../../base/names/ip-network.ts";
import type { SubjectName } from "../../base/names/subject-name.ts";
import { bits, element, elements, integer, oid, sequence, tags, time } from "./der.ts";
import { certificatePem, signingAlgorithm } from "./key.ts";
import type { Validity } from "./validity.ts";

/** The purpose of a leaf certificate, named after its file. */
export type LeafUsage = "nats-server" | "enroll";

export interface Leaf {
  commonName: string;
  publicKey: CryptoKey;
  /** Hexadecimal. */
  serial: string;
  validity: Validity;
  names: readonly SubjectName[];
  usage: LeafUsage;
}

/** What a leaf says about the certificate that signs it. */
interface Issuer {
  /** The subject, byte for byte. */
  name: Uint8Array;
  keyId: Uint8Array;
}

/** The object identifiers of a leaf (RFC 5280, RFC 5758). */
const ids = {
  commonName: oid("2.5.4.3"),
  subjectKeyId: oid("2.5.29.14"),
  keyUsage: oid("2.5.29.15"),
  subjectAltName: oid("2.5.29.17"),
  basicConstraints: oid("2.5.29.19"),
  authorityKeyId: oid("2.5.29.35"),
  extendedKeyUsage: oid("2.5.29.37"),
  serverAuth: oid("1.3.6.1.5.5.7.3.1"),
  clientAuth: oid("1.3.6.1.5.5.7.3.2"),
  ecdsaWithSha256: oid("1.2.840.10045.4.3.2"),
} as const;

const critical = element(tags.boolean, Uint8Array.of(0xff));
const version3 = element(tags.parts(0), integer(Uint8Array.of(2)));
const notAnAuthority = extension(ids.basicConstraints, sequence(), critical);
/** `digitalSignature`: the first bit, so seven of the byte are unused. */
const signs = extension(ids.keyUsage, element(tags.bitString, Uint8Array.of(7, 0x80)), critical);

/**
 * Builds a server certificate. A bus server also dials its peers, so its certificate is valid for both ends.
 *
 * This is the certificate that masters issue by the thousand, and one command issues once: its bytes are put together
 * here, because the certificate library takes a hundred times as long for them, and 20 ms to load.
 *
 * @param issuer the certificate that signs it, and its key
 * @returns PEM of the leaf alone
 */
export async function buildLeafCertificate(
  leaf: Leaf,
  issuer: { certificate: X509Certificate; key: CryptoKey },
): Promise<string> {
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", leaf.publicKey));
  const signed = signedPart(leaf, spki, readIssuer(issuer.certificate));
  const raw = new Uint8Array(await crypto.subtle.sign(signingAlgorithm, issuer.key, new Uint8Array(signed)));
  const half = raw.length / 2;
  const signature = sequence(integer(raw.subarray(0, half)), integer(raw.subarray(half)));
  return certificatePem(sequence(signed, sequence(ids.ecdsaWithSha256), bits(signature)));
}

function signedPart(leaf: Leaf, spki: Uint8Array, issuer: Issuer): Uint8Array {
  const { serverAuth, clientAuth } = ids;
  const purposes = leaf.usage === "nats-server" ? [serverAuth, clientAuth] : [serverAuth];
  const commonName = element(tags.utf8String, Buffer.from(leaf.commonName));
  return sequence(
    version3,
    integer(Buffer.from(leaf.serial, "hex")),
    sequence(ids.ecdsaWithSha256),
    issuer.name,
    sequence(time(leaf.validity.notBefore), time(leaf.validity.notAfter)),
    sequence(element(tags.set, sequence(ids.commonName, commonName))),
    spki,
    element(
      tags.parts(3),
      sequence(
        notAnAuthority,
        signs,
        extension(ids.extendedKeyUsage, sequence(...purposes)),
        extension(ids.subjectAltName, sequence(...leaf.names.map(generalName))),
        extension(ids.subjectKeyId, element(tags.octetString, keyIdOf(spki))),
        extension(ids.authorityKeyId, sequence(element(tags.value(0), issuer.keyId))),
      ),
    ),
  );
}

function extension(id: Uint8Array, value: Uint8Array, ...marks: readonly Uint8Array[]): Uint8Array {
  return sequence(id, ...marks, element(tags.octetString, value));
}

function generalName({ type, value }: SubjectName): Uint8Array {
  return type === "dns"
    ? element(tags.value(2), Buffer.from(value))
    : element(tags.value(7), addressOf(value));
}

/** An address in IPv6 notation stays one of IPv6: clients compare it with the address that they dial, as written. */
function addressOf(text: string): Uint8Array {
  const bytes = parseIp(text) ?? new Uint8Array();
  return isIP(text) === 6 && bytes.length === 4
    ? Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...bytes)
    : bytes;
}

/** The identifier of a key: SHA-1 of its bits (RFC 5280 section 4.2.1.2). @param spki DER */
function keyIdOf(spki: Uint8Array): Uint8Array {
  const [, key] = elements(elements(spki)[0]?.content ?? spki);
  // The first byte counts the unused bits.
  return createHash("sha1")
    .update(key?.content.subarray(1) ?? spki)
    .digest();
}

/** A CA made by another tool may derive its key identifier in another way, so it is read where there is one. */
function readIssuer({ raw }: X509Certificate): Issuer {
  const certificate = elements(raw)[0];
  const parts = elements(elements(certificate?.content ?? new Uint8Array())[0]?.content ?? new Uint8Array());
  // Without version: serial number, algorithm, issuer, validity, subject, key; then what is tagged.
  const [, , , , subject, spki] = parts.filter(({ tag }) => tag !== tags.parts(0));
  if (subject === undefined || spki === undefined) throw new Error("the issuer has no subject");
  const extensions = parts.find(({ tag }) => tag === tags.parts(3));
  const listed =
    extensions === undefined ? [] : elements(elements(extensions.content)[0]?.content ?? extensions.der);
  const own = listed
    .map(({ content }) => elements(content))
    .find(([id]) => id !== undefined && Buffer.compare(id.der, ids.subjectKeyId) === 0)
    ?.at(-1);
  const keyId = own === undefined ? undefined : elements(own.content)[0]?.content;
  return { name: subject.der, keyId: keyId ?? keyIdOf(spki.der) };
}
