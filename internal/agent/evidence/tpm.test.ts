import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { authorityExtensions, companyAuthority } from "../../../test/harness/company-authority.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { startTpm, type TestTpm } from "../../../test/harness/tpm.ts";
import { systemClock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { loadX509 } from "../../identity/ca/x509.ts";
import { readAuthorities } from "../../identity/evidence/authorities.ts";
import type { Claim } from "../../identity/evidence/claim.ts";
import { challengeTpm, type TpmEvidence, type TpmRules, verifyTpm } from "../../identity/evidence/tpm.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { proveTpm, type TpmAccess } from "./tpm.ts";

// TPMs in software, driven as a peel drives one, and judged as masters judge them.

setDefaultTimeout(60_000);

const directory = temporaryDirectory("tpm");
const dir = directory.path;
const { issue } = companyAuthority(dir);
const x509 = await loadX509();
const maker = issue({ subject: "/O=Maker/CN=TPM CA", key: "rsa", extensions: authorityExtensions });
const stranger = issue({ subject: "/O=Maker/CN=TPM CA", key: "rsa", extensions: authorityExtensions });
const mac = createRecordMac(newKeyPair("account", systemRandom));
const rules = (change: Partial<TpmRules> = {}): TpmRules => ({
  ...{ x509, trusted: readAuthorities(x509, maker.pem, "makers"), now: systemClock.now() + 60_000 },
  secretFor: (content) => mac("tpm-credential", content),
  ...change,
});
const claim: Claim = {
  ...{ challenge: Buffer.alloc(32, 7), publicKey: `U${"A".repeat(55)}`, host: "web-1.example.com" },
};

let tpms: { rsa: TestTpm; ecc: TestTpm };
/** Of two keys of the same TPM. */
let evidence: TpmEvidence;
let another: TpmEvidence;
let log: ReturnType<typeof recordingLog>;

beforeAll(async () => {
  const [rsa, ecc] = await Promise.all([
    startTpm(join(dir, "rsa"), maker),
    startTpm(join(dir, "ecc"), maker, "ecc"),
  ]);
  tpms = { rsa, ecc };
  evidence = await prove(tpms.rsa);
  another = await prove(tpms.rsa);
});
afterAll(async () => {
  await tpms?.rsa[Symbol.asyncDispose]();
  await tpms?.ecc[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const data = join(dir, "data");
mkdirSync(data);
const access = ({ tools, tcti }: Pick<TestTpm, "tools" | "tcti">): TpmAccess => {
  log = recordingLog();
  return { tools, tcti, dataDir: data, clock: systemClock, signal: new AbortController().signal, log };
};

/** What a peel sends for a claim. */
async function prove(tpm: TestTpm, of = claim): Promise<TpmEvidence> {
  const body = await proveTpm(access(tpm), {
    ...of,
    accepts: ["tpm"],
    credential: async ({ ek_certificate: ekCertificate, ak_public: akPublic }) => {
      const { blob, secret } = challengeTpm({ ekCertificate, akPublic }, of, {
        ...rules(),
        random: systemRandom,
      });
      return { credential_blob: blob.toString("base64"), encrypted_secret: secret.toString("base64") };
    },
  });
  if (body === undefined) throw new Error(`no evidence: ${JSON.stringify(log.records)}`);
  const {
    ek_certificate: ekCertificate = "",
    ak_public: akPublic = "",
    attest = "",
    signature = "",
    secret = "",
  } = body;
  return { ekCertificate, akPublic, attest, signature, secret };
}

/** Why evidence is refused. */
function reasonOf(sent: TpmEvidence, of = claim, change: Partial<TpmRules> = {}): string {
  try {
    verifyTpm(sent, of, rules(change));
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "unauthorized") return thrown.message;
    throw thrown;
  }
  return "accepted";
}

test("a TPM with an RSA endorsement key proves itself", () => {
  expect(verifyTpm(evidence, claim, rules())).toEqual({
    type: "tpm",
    fields: {
      device: expect.stringContaining("swtpm"),
      ek_fingerprint: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      ak_name: expect.stringMatching(/^000b[0-9a-f]{64}$/),
      serial: expect.stringMatching(/^[0-9a-f]+$/),
      authority: "O=Maker, CN=TPM CA",
    },
  });
  expect(readdirSync(data)).toEqual([]);
});

test("so does one with a key on P-256, and what a killed peel left is removed", async () => {
  mkdirSync(join(data, ".tpm-left", "inside"), { recursive: true });
  expect(reasonOf(await prove(tpms.ecc))).toBe("accepted");
  expect(readdirSync(data)).toEqual([]);
});

test("two keys of one TPM show the same endorsement key", () => {
  const [first, second] = [evidence, another].map((sent) => verifyTpm(sent, claim, rules()).fields);
  expect(first?.ek_fingerprint).toBe(second?.ek_fingerprint ?? "");
  expect(first?.ak_name).not.toBe(second?.ak_name ?? "");
});

describe("refused", () => {
  test("evidence of another challenge, for another peel, or under other keys of masters", () => {
    expect(reasonOf(evidence, { ...claim, challenge: Buffer.alloc(32, 8) })).toContain(
      "the secret does not match",
    );
    expect(reasonOf(evidence, { ...claim, publicKey: `U${"B".repeat(55)}` })).toContain(
      "the secret does not match",
    );
    expect(reasonOf(evidence, claim, { secretFor: () => Buffer.alloc(32) })).toContain(
      "the secret does not match",
    );
  });

  test("a quote by a key that is not the one of the credential", () => {
    const { attest, signature } = another;
    expect(reasonOf({ ...evidence, attest, signature })).toContain("the quote is not signed");
    expect(reasonOf({ ...evidence, signature })).toContain("the quote is not signed");
    // With the key as well, the secret belongs to another credential.
    expect(reasonOf({ ...another, secret: evidence.secret })).toContain("the secret does not match");
  });

  test("a quote over another challenge, with the right secret", async () => {
    const other = await prove(tpms.rsa, { ...claim, challenge: Buffer.alloc(32, 9) });
    const secretFor = () => Buffer.alloc(32, 1);
    const sent = { ...other, secret: Buffer.alloc(32, 1).toString("base64") };
    expect(reasonOf(sent, claim, { secretFor })).toContain("the quote is not over this challenge");
  });

  test("a TPM of another maker, also before it gets a secret", () => {
    const trusted = readAuthorities(x509, stranger.pem, "makers");
    expect(reasonOf(evidence, claim, { trusted })).toContain("that this master trusts");
    const request = () => challengeTpm(evidence, claim, { ...rules({ trusted }), random: systemRandom });
    expect(request).toThrow("that this master trusts");
  });

  test.each([
    ["for another use", ["extendedKeyUsage=clientAuth", "keyUsage=keyEncipherment"]],
    ["for any use", ["extendedKeyUsage=anyExtendedKeyUsage", "keyUsage=keyEncipherment"]],
    ["without a use", ["keyUsage=keyEncipherment"]],
    ["of a key that only signs", ["extendedKeyUsage=2.23.133.8.1", "keyUsage=digitalSignature"]],
    ["of an authority", ["extendedKeyUsage=2.23.133.8.1", ...authorityExtensions]],
  ])("an endorsement certificate %s", (_, extensions) => {
    const { pem } = issue({ by: maker, key: "rsa", extensions });
    const ekCertificate = pem.replace(/-----.*-----|\s/g, "");
    expect(reasonOf({ ...evidence, ekCertificate })).toStartWith("evidence does not verify: the");
  });

  test("an endorsement key of another kind", () => {
    const extensions = ["extendedKeyUsage=2.23.133.8.1", "keyUsage=keyAgreement"];
    const { pem } = issue({ by: maker, key: "p384", extensions });
    const ekCertificate = pem.replace(/-----.*-----|\s/g, "");
    expect(reasonOf({ ...evidence, ekCertificate })).toContain("RSA with 2048 bits or P-256");
  });

  test("an attestation key that could be elsewhere, or that signs anything", () => {
    const area = Buffer.from(evidence.akPublic, "base64");
    const attributes = area.readUInt32BE(6);
    const bits = {
      fixedTpm: 1,
      fixedParent: 4,
      sensitiveDataOrigin: 5,
      restricted: 16,
      decrypt: 17,
      sign: 18,
    };
    for (const bit of Object.values(bits)) {
      const changed = Buffer.from(area);
      changed.writeUInt32BE((attributes ^ (1 << bit)) >>> 0, 6);
      expect(reasonOf({ ...evidence, akPublic: changed.toString("base64") })).toContain("ak_public is not");
    }
  });

  test("every structure with any byte changed, cut off or added", () => {
    const names = ["ekCertificate", "akPublic", "attest", "signature", "secret"] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.nat(2_000),
        fc.integer({ min: 1, max: 255 }),
        (name, place, change) => {
          const bytes = Buffer.from(evidence[name], "base64");
          const at = place % bytes.length;
          const changed = Buffer.from(bytes);
          changed[at] = (changed[at] ?? 0) ^ change;
          for (const one of [changed, bytes.subarray(0, at), Buffer.concat([bytes, Buffer.of(change)])]) {
            expect(reasonOf({ ...evidence, [name]: one.toString("base64") })).toStartWith("evidence ");
          }
          expect(reasonOf({ ...evidence, [name]: "not base64!" })).toStartWith("evidence ");
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("a host without a TPM that can be used", () => {
  const request = { ...claim, accepts: ["tpm"], credential: async () => undefined };
  test.each([
    ["without tpm2-tools", () => ({ tools: dir, tcti: "" }), "tpm2_nvread of tpm2-tools cannot be started"],
    [
      "without a TPM",
      () => ({ tools: tpms.rsa.tools, tcti: `swtpm:path=${join(dir, "absent")}` }),
      "tpm2_nvread failed with code",
    ],
  ])("%s reports it, and leaves nothing behind", async (_, where, reason) => {
    expect(await proveTpm(access(where()), request)).toBeUndefined();
    expect(log.records).toMatchObject([
      {
        event: "this host has no TPM that can be used: enrolling without it",
        fields: { reason: expect.stringContaining(reason) },
      },
    ]);
    expect(readdirSync(data)).toEqual([]);
  });

  test("with a TPM that cannot open the secret enrolls without it", async () => {
    const credential = async () => ({ credential_blob: "AAAA", encrypted_secret: "AAAA" });
    expect(await proveTpm(access(tpms.rsa), { ...request, credential })).toBeUndefined();
    expect(log.records[0]?.fields.reason).toContain("tpm2_activatecredential failed");
  });

  test("a refusal by the master ends it", async () => {
    const credential = async () => {
      throw new SvcError("forbidden", "the master refused the TPM of this host");
    };
    await expect(proveTpm(access(tpms.rsa), { ...request, credential })).rejects.toThrow("refused the TPM");
    expect(readdirSync(data)).toEqual([]);
  });
});
