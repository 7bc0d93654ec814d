import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  authorityExtensions,
  companyAuthority,
  leafExtensions,
} from "../../../test/harness/company-authority.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { sshKeys } from "../../../test/harness/ssh-keys.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { loadX509 } from "../../identity/ca/x509.ts";
import { readAuthorities } from "../../identity/evidence/authorities.ts";
import { readKnownHosts } from "../../identity/evidence/known-hosts.ts";
import type { EvidenceType } from "../../identity/evidence/message.ts";
import { verifySsh } from "../../identity/evidence/ssh.ts";
import { verifyX509 } from "../../identity/evidence/x509.ts";
import { loadPeelConfig } from "../../program/config/peel.ts";
import { createProver, inspectProofs } from "./prove.ts";
import { proveSsh } from "./ssh.ts";
import { proveX509 } from "./x509.ts";

// What a peel sends, judged as masters judge it.

const directory = temporaryDirectory("prove");
afterAll(() => directory[Symbol.dispose]());
const dir = directory.path;
const { issue } = companyAuthority(dir);
const ssh = sshKeys(dir);
const x509 = await loadX509();

const host = "web-1.example.com";
const request = {
  accepts: ["x509", "ssh"],
  challenge: Buffer.alloc(32, 7),
  publicKey: `U${"A".repeat(55)}`,
  credential: async () => undefined,
};
const claim = { challenge: request.challenge, publicKey: request.publicKey, host };
const now = systemClock.now() + 60_000;
const file = (name: string, text: string) => {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
};

const root = issue({ subject: "/CN=Root", extensions: authorityExtensions });
const leaf = issue({ by: root, extensions: leafExtensions(host) });

describe("a certificate", () => {
  test.each(["ec", "p384", "rsa", "ed25519"] as const)("with a key of %s verifies", (key) => {
    const { cert, key: keyFile } = issue({ by: root, key, extensions: leafExtensions(host) });
    const { chain_pem: chainPem = "", signature = "" } = proveX509({ cert, key: keyFile }, request);
    const rules = { x509, trusted: readAuthorities(x509, root.pem, "ca"), names: "peel" as const, now };
    expect(verifyX509({ chainPem, signature }, claim, rules).fields.names).toEqual([host]);
  });

  test("is sent with its chain, and with nothing else that is in the file", async () => {
    const key = await Bun.file(leaf.key).text();
    const cert = file("both.pem", `${key}\nsubject=web\n${leaf.pem}\n${root.pem}`);
    const { chain_pem: chain } = proveX509({ cert, key: leaf.key }, request);
    expect(chain).toBe(leaf.pem + root.pem);
  });

  test.each([
    ["evidence.x509_cert", () => ({ cert: join(dir, "absent"), key: leaf.key })],
    ["evidence.x509_cert", () => ({ cert: file("empty", ""), key: leaf.key })],
    ["evidence.x509_cert", () => ({ cert: file("cut", leaf.pem.slice(0, 99)), key: leaf.key })],
    ["evidence.x509_key", () => ({ cert: leaf.cert, key: join(dir, "absent") })],
    ["evidence.x509_key", () => ({ cert: leaf.cert, key: leaf.cert })],
    ["evidence.x509_key", () => ({ cert: leaf.cert, key: root.key })],
  ])("that cannot be used is named by %s", (name, paths) => {
    expect(() => proveX509(paths(), request)).toThrow(name);
  });
});

describe("an SSH host key", () => {
  const authority = ssh.make("ed25519");
  const kinds: [string, "ed25519" | "ecdsa", string[]][] = [
    ["ed25519", "ed25519", []],
    ["ecdsa of 256 bits", "ecdsa", ["-b", "256"]],
    ["ecdsa of 384 bits", "ecdsa", ["-b", "384"]],
    ["ecdsa of 521 bits", "ecdsa", ["-b", "521"]],
    ["ecdsa in PEM", "ecdsa", ["-m", "PEM"]],
    ["ecdsa in PKCS #8", "ecdsa", ["-m", "PKCS8"]],
  ];
  test.each(kinds)("%s verifies, alone and with its certificate", (_, type, options) => {
    const key = ssh.make(type, ...options);
    const verify = (line: string) => {
      const { public_key: publicKey = "", signature = "", certificate } = proveSsh(key.path, request);
      const sent = { publicKey, signature, ...(certificate === undefined ? {} : { certificate }) };
      return verifySsh(sent, claim, { known: readKnownHosts(line, "known_hosts"), now }).fields;
    };
    expect(verify(`${host} ${key.publicKey}`)).not.toHaveProperty("authority");
    ssh.certify(authority, key, "-h", "-n", host);
    const line = `@cert-authority * ${authority.publicKey}`;
    expect(verify(line)).toHaveProperty("authority");
    // Leading zeros of numbers are frequent enough: each signature is another.
    for (let time = 0; time < 64; time++) verify(line);
  });

  test.each([
    ["that is absent", () => join(dir, "absent")],
    ["that is encrypted", () => ssh.make("ed25519", "-N", "secret").path],
    ["of RSA", () => ssh.make("rsa", "-b", "2048").path],
    ["that is public", () => `${authority.path}.pub`],
    [
      "that is cut off",
      () =>
        file("cut-key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----\n"),
    ],
  ])("%s is named as in the configuration", (_, path) => {
    expect(() => proveSsh(path(), request)).toThrow("evidence.ssh_host_key");
  });
});

describe("the choice", () => {
  const hostKey = ssh.make("ed25519");
  const prover = (flags: readonly string[]) => {
    const loaded = loadPeelConfig(flags, {}, () => undefined);
    if (loaded.kind !== "run") throw new Error("does not run");
    const log = recordingLog();
    return {
      prove: createProver(loaded.values, {
        dataDir: dir,
        clock: systemClock,
        signal: AbortSignal.timeout(60_000),
        log,
      }),
      log,
    };
  };
  const certificate = ["--evidence-x509-cert", leaf.cert, "--evidence-x509-key", leaf.key];
  const both = [...certificate, "--evidence-ssh-host-key", hostKey.path];

  test("nothing is configured by default", () => expect(prover([]).prove).toBeUndefined());

  test.each<[string[], EvidenceType | undefined]>([
    [["x509", "ssh"], "x509"],
    [["ssh", "later", "x509"], "x509"],
    [["ssh"], "ssh"],
    [["later"], undefined],
    [[], undefined],
  ])("for a master that accepts %p", async (accepts, expected) => {
    const { prove, log } = prover(both);
    expect((await prove?.({ ...request, accepts }))?.type).toBe(expected);
    const reported = log.records.map(({ event }) => event);
    expect(reported).toEqual([
      expected === undefined
        ? "this master accepts none of the configured evidence: enrolling without"
        : "enrolling with evidence",
    ]);
  });

  test("what is configured can be checked without a master", () => {
    const inspect = (flags: readonly string[]) => {
      const loaded = loadPeelConfig(flags, {}, () => undefined);
      return loaded.kind === "run" ? inspectProofs(loaded.values) : [];
    };
    expect(inspect([])).toEqual([]);
    expect(inspect([...both, "--evidence-tpm"])).toEqual(["tpm", "x509", "ssh"]);
    expect(() => inspect(["--evidence-ssh-host-key", leaf.cert])).toThrow("evidence.ssh_host_key");
  });

  test("half of the certificate is refused at the start", () => {
    expect(() => prover(certificate.slice(0, 2))).toThrow("needs evidence.x509_key as well");
    expect(() => prover(certificate.slice(2))).toThrow("needs evidence.x509_cert as well");
  });
});
