import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import fc from "fast-check";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { parseNames, type SubjectName } from "../../base/names/subject-name.ts";
import { buildAuthorityCertificate, newSerial } from "./build.ts";
import { element, elements, oid, tags, time } from "./der.ts";
import { newSigningKey, signingAlgorithm } from "./key.ts";
import { buildLeafCertificate, type Leaf } from "./leaf.ts";
import { loadX509 } from "./x509.ts";

const x509 = await loadX509();
const second = 1000;
const signer = await newSigningKey();
const issuerPem = await buildAuthorityCertificate(
  {
    subject: [
      ["O", "Example é"],
      ["CN", "Example Intermediate CA"],
    ],
    publicKey: signer.keys.publicKey,
    serial: newSerial(systemRandom),
    validity: { notBefore: 0, notAfter: systemClock.now() },
    pathLength: 0,
  },
  { selfSigningKey: signer.keys.privateKey },
);
const issuer = { certificate: new X509Certificate(issuerPem), key: signer.keys.privateKey };
const { keys } = await newSigningKey();

/** The same certificate as the library builds it. */
async function byLibrary(leaf: Leaf, issuerPem: string): Promise<Uint8Array> {
  const certificate = new x509.X509Certificate(issuerPem);
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  const keyId = certificate.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  const built = await x509.X509CertificateGenerator.create({
    serialNumber: leaf.serial,
    subject: new x509.Name([{ CN: [{ utf8String: leaf.commonName }] }]),
    issuer: certificate.subjectName,
    notBefore: new Date(leaf.validity.notBefore),
    notAfter: new Date(leaf.validity.notAfter),
    publicKey: leaf.publicKey,
    signingKey: signer.keys.privateKey,
    signingAlgorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(
        leaf.usage === "nats-server" ? [serverAuth, clientAuth] : [serverAuth],
      ),
      new x509.SubjectAlternativeNameExtension([...leaf.names]),
      await x509.SubjectKeyIdentifierExtension.create(leaf.publicKey),
      keyId === undefined
        ? await x509.AuthorityKeyIdentifierExtension.create(certificate.publicKey)
        : new x509.AuthorityKeyIdentifierExtension(keyId),
    ],
  });
  return new Uint8Array(built.rawData);
}

/** What is signed; the signature itself differs each time. */
const signedPartOf = (der: Uint8Array) =>
  Buffer.from(elements(elements(der)[0]?.content ?? der)[0]?.der ?? []).toString("hex");

async function expectSame(leaf: Leaf) {
  const own = new X509Certificate(await buildLeafCertificate(leaf, issuer));
  expect(own.verify(issuer.certificate.publicKey)).toBe(true);
  expect(own.checkIssued(issuer.certificate)).toBe(true);
  expect(signedPartOf(own.raw)).toBe(signedPartOf(await byLibrary(leaf, issuerPem)));
}

const instant = (from: number, to: number) =>
  fc.integer({ min: Math.ceil(from / second), max: Math.floor(to / second) }).map((at) => at * second);
const name: fc.Arbitrary<SubjectName> = fc.oneof(
  fc.domain().map((value) => ({ type: "dns" as const, value: value.toLowerCase() })),
  // The library reads the dotted end of an IPv6 address wrongly: see below.
  fc
    .oneof(
      fc.ipV4(),
      fc.ipV6().filter((text) => !text.includes(".")),
    )
    .map((value) => ({ type: "ip" as const, value: value.toLowerCase() })),
);

describe("a leaf is, byte for byte, the one of the certificate library", () => {
  test("for any name, serial number and time", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          commonName: fc.string({ minLength: 1, maxLength: 64, unit: "grapheme" }),
          serial: fc.uint8Array({ minLength: 20, maxLength: 20 }),
          notBefore: instant(Date.UTC(1950, 0, 1), Date.UTC(2049, 11, 31)),
          notAfter: instant(Date.UTC(2050, 0, 1), Date.UTC(9999, 11, 31)),
          names: fc.array(name, { minLength: 1, maxLength: 20 }),
          usage: fc.constantFrom("nats-server" as const, "enroll" as const),
        }),
        async ({ notBefore, notAfter, serial, ...leaf }) => {
          const publicKey = keys.publicKey;
          await expectSame({
            ...leaf,
            publicKey,
            serial: newSerial(() => serial),
            validity: { notBefore, notAfter },
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each(["10.0.0.5", "2001:db8::5", "::", "::ffff:a00:5", "*.example.com"])("for %s", async (text) => {
    await expectSame({
      commonName: "nats",
      publicKey: keys.publicKey,
      serial: newSerial(systemRandom),
      validity: { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2027, 0, 1) },
      names: parseNames([text]),
      usage: "nats-server",
    });
  });
});

test.each([
  ["::ffff:10.0.0.5", "0:0:0:0:0:FFFF:A00:5"],
  ["64:ff9b::192.0.2.33", "64:FF9B:0:0:0:0:C000:221"],
])("an IPv6 address with a dotted end is that address: %s", async (text, read) => {
  const pem = await buildLeafCertificate(
    {
      commonName: "nats",
      publicKey: keys.publicKey,
      serial: newSerial(systemRandom),
      validity: { notBefore: 0, notAfter: second },
      names: parseNames([text]),
      usage: "enroll",
    },
    issuer,
  );
  expect(new X509Certificate(pem).subjectAltName).toBe(`IP Address:${read}`);
});

test("takes the key identifier of an issuer that has none from its key", async () => {
  const bare = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=bare",
    keys: signer.keys,
    signingAlgorithm,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  const leaf: Leaf = {
    commonName: "nats",
    publicKey: keys.publicKey,
    serial: newSerial(systemRandom),
    validity: { notBefore: 0, notAfter: second },
    names: parseNames(["a.example.com"]),
    usage: "enroll",
  };
  const certificate = new X509Certificate(bare.toString("pem"));
  const own = await buildLeafCertificate(leaf, { certificate, key: signer.keys.privateKey });
  expect(signedPartOf(new X509Certificate(own).raw)).toBe(
    signedPartOf(await byLibrary(leaf, bare.toString("pem"))),
  );
});

describe("DER", () => {
  test.each([
    [0, "3000"],
    [0x7f, "307f"],
    [0x80, "308180"],
    [0xff, "3081ff"],
    [0x100, "30820100"],
    [0x1_0000, "3083010000"],
  ])("a length of %d", (size, head) => {
    const der = element(tags.sequence, new Uint8Array(size));
    expect(Buffer.from(der).toString("hex").slice(0, head.length)).toBe(head);
    expect(elements(der).map(({ content }) => content.length)).toEqual([size]);
  });

  test.each([
    ["2.5.29.17", "0603551d11"],
    ["1.2.840.10045.4.3.2", "06082a8648ce3d040302"],
  ])("the object identifier %s", (dotted, hex) => {
    expect(Buffer.from(oid(dotted)).toString("hex")).toBe(hex);
  });

  test("the year 2050 has four digits", () => {
    const read = (ms: number) => Buffer.from(elements(time(ms))[0]?.content ?? []).toString();
    expect(read(Date.UTC(2049, 11, 31, 23, 59, 59))).toBe("491231235959Z");
    expect(read(Date.UTC(2050, 0, 1))).toBe("20500101000000Z");
  });

  test("refuses what is cut off", () => {
    const der = element(tags.sequence, new Uint8Array(300));
    for (let size = 1; size < der.length; size++)
      expect(() => elements(der.subarray(0, size))).toThrow("cut off");
  });
});
