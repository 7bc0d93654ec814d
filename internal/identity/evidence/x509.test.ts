import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  authorityExtensions,
  companyAuthority,
  type Issued,
  leafExtensions,
  type Order,
} from "../../../test/harness/company-authority.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { loadX509 } from "../ca/x509.ts";
import { readAuthorities } from "./authorities.ts";
import { evidenceMessage } from "./message.ts";
import { readPemCertificates } from "./pem.ts";
import { verifyX509, type X509Rules } from "./x509.ts";

const directory = temporaryDirectory("x509");
afterAll(() => directory[Symbol.dispose]());
const { issue, sign } = companyAuthority(directory.path);
const x509 = await loadX509();

const host = "web-1.example.com";
const challenge = Buffer.alloc(32, 7);
const publicKey = `U${"A".repeat(55)}`;
const claim = { challenge, publicKey, host };
const day = 24 * 3600_000;

const root = issue({ subject: "/O=Example/CN=Root", days: 3650, extensions: authorityExtensions });
const middle = issue({
  ...{ subject: "/O=Example/CN=Issuing", by: root, days: 300 },
  extensions: ["basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign"],
});
const ordinary = ["keyUsage=critical,digitalSignature", "extendedKeyUsage=clientAuth"];
const leafOf = (order: Order = {}) =>
  issue({ by: middle, extensions: leafExtensions(host, ...ordinary), ...order });
const leaf = leafOf();
const trusted = (...of: Issued[]) => readAuthorities(x509, of.map(({ pem }) => pem).join(""), "ca.pem");
const now = systemClock.now() + 60_000;
const rules = (change: Partial<X509Rules> = {}): X509Rules => ({
  ...{ x509, trusted: trusted(root), names: "peel", now },
  ...change,
});
const message = evidenceMessage("x509", challenge, publicKey);
const evidence = (chain: readonly Issued[], signature = sign(chain[0]?.key ?? "", message)) => ({
  chainPem: chain.map(({ pem }) => pem).join(""),
  signature: signature.toString("base64"),
});

/** Why evidence is refused. */
function reasonOf(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "unauthorized") return thrown.message;
    throw thrown;
  }
  return "accepted";
}

test("the signed bytes are those of the specification", () => {
  const bytes = [Buffer.from("svc/evidence/v1\0x509\0"), challenge, Buffer.from(`\0${publicKey}`)];
  expect(Buffer.from(message)).toEqual(Buffer.concat(bytes));
});

describe("accepted", () => {
  test("a chain shows what it names", () => {
    const names = `DNS:${host},DNS:alias.example.com,IP:192.0.2.1,URI:spiffe://example.com/web`;
    const named = leafOf({
      subject: "/O=Exämple, Inc/CN=web",
      extensions: [`subjectAltName=${names}`, ...ordinary],
    });
    expect(verifyX509(evidence([named, middle]), claim, rules())).toEqual({
      type: "x509",
      fields: {
        subject: "O=Exämple\\, Inc, CN=web",
        names: [host, "alias.example.com"],
        addresses: ["192.0.2.1"],
        uris: ["spiffe://example.com/web"],
        serial: expect.stringMatching(/^[0-9a-f]+$/),
        fingerprint: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        not_after: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        authority: "O=Example, CN=Root",
      },
    });
  });

  const chains: Record<string, () => [readonly Issued[], Partial<X509Rules>?]> = {
    "an RSA key": () => [[leafOf({ key: "rsa" }), middle]],
    "a P-384 key": () => [[leafOf({ key: "p384" }), middle]],
    "an Ed25519 key": () => [[leafOf({ key: "ed25519" }), middle]],
    "the root at the end, which nobody needs": () => [[leaf, middle, root]],
    "an authority that is trusted itself": () => [[leaf], { trusted: trusted(middle) }],
    "a certificate directly of the root": () => [[leafOf({ by: root })]],
    "one without restrictions of its use": () => [[leafOf({ extensions: leafExtensions(host) }), middle]],
    "one for any extended use": () => [
      [leafOf({ extensions: leafExtensions(host, "extendedKeyUsage=anyExtendedKeyUsage") }), middle],
    ],
    "the name in capital letters": () => [
      [leafOf({ extensions: leafExtensions(host.toUpperCase()) }), middle],
    ],
    "the common name, where there are no DNS names": () => [
      [leafOf({ subject: `/CN=${host}`, extensions: ["basicConstraints=CA:FALSE"] }), middle],
    ],
    "another name, where any is accepted": () => [
      [leafOf({ extensions: leafExtensions("device-7.example.com") }), middle],
      { names: "any" },
    ],
  };
  test.each(Object.entries(chains))("%s", (_, make) => {
    const [chain, change] = make();
    expect(reasonOf(() => verifyX509(evidence(chain), claim, rules(change)))).toBe("accepted");
  });
});

describe("refused", () => {
  const leafWith = (...extensions: string[]) => leafOf({ extensions: leafExtensions(host, ...extensions) });
  const authorityWith = (extensions: string[], order: Order = {}) =>
    issue({ subject: "/CN=Other issuing", by: root, days: 300, extensions, ...order });
  const under = (by: Issued) => [leafOf({ by }), by];
  const stranger = issue({ subject: "/O=Example/CN=Root", extensions: authorityExtensions });
  const rows: Record<string, () => [reason: string, chain: readonly Issued[], change?: Partial<X509Rules>]> =
    {
      "another host": () => [
        "issued for another host",
        [leafOf({ extensions: leafExtensions("web-2.example.com") }), middle],
      ],
      "a wildcard for the host": () => [
        "issued for another host",
        [leafOf({ extensions: leafExtensions("*.example.com") }), middle],
      ],
      "the host as common name next to another DNS name": () => [
        "issued for another host",
        [leafOf({ subject: `/CN=${host}`, extensions: leafExtensions("web-2.example.com") }), middle],
      ],
      "the host as common name next to a URI": () => [
        "issued for another host",
        [
          leafOf({ subject: `/CN=${host}`, extensions: ["subjectAltName=URI:spiffe://example.com/web"] }),
          middle,
        ],
      ],
      "the host as one of two common names": () => [
        "issued for another host",
        [leafOf({ subject: `/CN=web-2/CN=${host}`, extensions: [] }), middle],
      ],
      "an expired certificate": () => ["has expired", [leaf, middle], { now: now + 31 * day }],
      "a certificate of tomorrow": () => ["is not valid yet", [leaf, middle], { now: now - 2 * day }],
      "an expired authority": () => {
        const short = authorityWith(authorityExtensions, { days: 10 });
        return ["has expired", under(short), { now: now + 11 * day }];
      },
      "an expired root": () => {
        const old = issue({ subject: "/CN=Old", days: 5, extensions: authorityExtensions });
        return ["this master trusts", [leafOf({ by: old })], { trusted: trusted(old), now: now + 6 * day }];
      },
      "a key that may not sign": () => ["the key usage", [leafWith("keyUsage=keyEncipherment"), middle]],
      "a certificate for servers": () => [
        "the extended key usage",
        [leafWith("extendedKeyUsage=serverAuth"), middle],
      ],
      "an authority of strangers": () => ["this master trusts", [leafOf({ by: stranger })]],
      "the root of strangers, sent along": () => ["this master trusts", [leafOf({ by: stranger }), stranger]],
      "an authority as a host": () => ["that of an authority", [middle]],
      "a root as a host": () => ["that of an authority", [root]],
      "a host as an authority": () => ["is not an authority", [leafOf({ by: leaf }), leaf, middle]],
      "an authority that may not sign certificates": () => [
        "may not sign certificates",
        under(authorityWith(["basicConstraints=CA:TRUE", "keyUsage=digitalSignature"])),
      ],
      "a trusted authority that may not sign certificates": () => {
        const anchor = authorityWith(["basicConstraints=CA:TRUE", "keyUsage=digitalSignature"]);
        return ["this master trusts", [leafOf({ by: anchor })], { trusted: trusted(anchor) }];
      },
      "an authority for servers": () => [
        "may not issue such certificates",
        under(authorityWith([...authorityExtensions, "extendedKeyUsage=serverAuth"])),
      ],
      "an authority below one that allows none": () => {
        const below = issue({ subject: "/CN=Below", by: middle, extensions: authorityExtensions });
        return ["allows no authority below it", [...under(below), middle]];
      },
      "an authority below a trusted one that allows none": () => {
        const below = issue({ subject: "/CN=Below", by: middle, extensions: authorityExtensions });
        return ["this master trusts", under(below), { trusted: trusted(middle) }];
      },
      "name constraints": () => [
        "a restriction that is not supported",
        [
          ...under(authorityWith([...authorityExtensions, "nameConstraints=permitted;DNS:example.com"])),
          root,
        ],
      ],
      "an unknown critical extension": () => [
        "a restriction that is not supported",
        [leafWith("1.2.3.4=critical,DER:0500"), middle],
      ],
      "a weak RSA key": () => ["too weak", [leafOf({ key: "rsa-1024" }), middle]],
      "another curve": () => ["too weak or not supported", [leafOf({ key: "secp256k1" }), middle]],
      "SHA-1": () => ["not signed by the next one", [leafOf({ digest: "sha1" }), middle]],
      "a missing authority": () => ["this master trusts", [leaf]],
      "another order": () => ["that of an authority", [middle, leaf]],
      "an authority of another chain": () => ["not signed by the next one", [leaf, stranger, middle]],
      "a long subject": () => [
        "the subject has more than 512 characters",
        [leafOf({ subject: Array.from({ length: 12 }, () => `/OU=${"x".repeat(60)}`).join("") }), middle],
      ],
      "many names": () => {
        const names = Array.from({ length: 70 }, (_, at) => `DNS:n${at}.example.com`).join(",");
        return ["more than 64", [leafOf({ extensions: [`subjectAltName=DNS:${host},${names}`] }), middle]];
      },
      "nine certificates": () => [
        "more than 8 certificates",
        [leaf, ...Array.from({ length: 8 }, () => middle)],
      ],
      "no certificate": () => ["not a chain of certificates", []],
    };
  test.each(Object.entries(rows))("%s", (_, make) => {
    const [reason, chain, change] = make();
    const [first] = chain;
    const sent = evidence(chain, first === undefined ? Buffer.alloc(64) : sign(first.key, message));
    const reported = reasonOf(() => verifyX509(sent, claim, rules(change)));
    expect(reported).toStartWith("evidence ");
    expect(reported).toContain(reason);
  });

  test("a signature over another challenge, for another key, of another type, or by another key", () => {
    const other = leafOf();
    const signatures = [
      sign(leaf.key, evidenceMessage("x509", Buffer.alloc(32, 8), publicKey)),
      sign(leaf.key, evidenceMessage("x509", challenge, `U${"B".repeat(55)}`)),
      sign(leaf.key, evidenceMessage("ssh", challenge, publicKey)),
      sign(other.key, message),
      Buffer.alloc(0),
      Buffer.alloc(72, 1),
    ];
    for (const signature of signatures) {
      const reported = reasonOf(() => verifyX509(evidence([leaf, middle], signature), claim, rules()));
      expect(reported).toContain("the signature is not by the key of the certificate");
    }
    const text = { ...evidence([leaf, middle]), signature: "not base64!" };
    expect(reasonOf(() => verifyX509(text, claim, rules()))).toContain("the signature");
  });
});

describe("whatever is sent", () => {
  const [der] = readPemCertificates(leaf.pem) ?? [];
  const signed = evidence([leaf, middle]);
  const withLeaf = (bytes: Uint8Array) => ({
    ...signed,
    chainPem: `-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes).toString("base64")}\n-----END CERTIFICATE-----\n${middle.pem}`,
  });
  const all = rules();

  test("a certificate with any byte changed, cut off or added is refused", () => {
    const bytes = Buffer.from(der ?? []);
    expect(reasonOf(() => verifyX509(withLeaf(bytes), claim, all))).toBe("accepted");
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        expect(reasonOf(() => verifyX509(withLeaf(changed), claim, all))).not.toBe("accepted");
        expect(reasonOf(() => verifyX509(withLeaf(bytes.subarray(0, at)), claim, all))).not.toBe("accepted");
        const longer = Buffer.concat([bytes, Buffer.of(change)]);
        expect(reasonOf(() => verifyX509(withLeaf(longer), claim, all))).not.toBe("accepted");
      }),
      { numRuns: 300 },
    );
  });

  test("any text and any bytes are refused, and nothing of them is repeated", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), fc.uint8Array({ maxLength: 400 }), (text, bytes) => {
        for (const chainPem of [text, withLeaf(bytes).chainPem, `${signed.chainPem.slice(0, 300)}${text}`]) {
          const reported = reasonOf(() => verifyX509({ chainPem, signature: text }, claim, all));
          expect(reported).toStartWith("evidence ");
          expect(reported).not.toContain(text);
        }
      }),
    );
  });
});

test("a file of authorities is refused for another certificate, by its place", () => {
  expect(() => readAuthorities(x509, `${root.pem}${leaf.pem}`, "ca.pem")).toThrow(
    "ca.pem: certificate 2 is not that of a certificate authority",
  );
  expect(() => readAuthorities(x509, "", "ca.pem")).toThrow("ca.pem: expected certificates in PEM");
  expect(() => readAuthorities(x509, root.pem.slice(0, 200), "ca.pem")).toThrow("expected certificates");
});
