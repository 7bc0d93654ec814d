import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { proveTpm } from "../../internal/agent/evidence/tpm.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { authorityExtensions, companyAuthority, leafExtensions } from "../harness/company-authority.ts";
import { type Enrollee, newEnrollee, postJson, submission, submit, takeNonce } from "../harness/enrollee.ts";
import { logRecords, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { recordingLog } from "../harness/log.ts";
import { sshKeys } from "../harness/ssh-keys.ts";
import { startTpm, type TestTpm } from "../harness/tpm.ts";

// Hosts that prove what they are, with the compiled binaries: what an operator sees, and what is refused.

setDefaultTimeout(60_000);

let bus: TestBus;
/** Accepts evidence. */
let master: MasterDaemon;
/** Accepts a TPM alone. */
let second: MasterDaemon;
/** Accepts none, as masters of earlier versions. */
let plain: MasterDaemon;
let company: ReturnType<typeof companyAuthority>;
let ssh: ReturnType<typeof sshKeys>;
let ca: ReturnType<typeof company.issue>;
let knownHosts: string;
let tpm: TestTpm;

const door = (of: MasterDaemon) => ({ url: of.url, ca: bus.caPem });

beforeAll(async () => {
  bus = await startBus();
  company = companyAuthority(bus.dir);
  ssh = sshKeys(bus.dir);
  ca = company.issue({ subject: "/O=Example/CN=Root", extensions: authorityExtensions });
  knownHosts = join(bus.dir, "known_hosts");
  writeFileSync(knownHosts, "");
  const maker = company.issue({ subject: "/O=Maker/CN=TPM CA", key: "rsa", extensions: authorityExtensions });
  const policy = join(bus.dir, "policy.yaml");
  writeFileSync(
    policy,
    "rules:\n  - name: racks\n    match: { peel: '*.rack.example.com', evidence: x509 }\n    decide: approve\n",
    { mode: 0o600 },
  );
  const accepting = [
    ...["--enroll-policy", policy],
    ...["--enroll-evidence-x509-ca", ca.cert, "--enroll-evidence-ssh-known-hosts", knownHosts],
    ...["--enroll-evidence-tpm-ca", maker.cert],
  ];
  [master, second, plain, tpm] = await Promise.all([
    startMasterBinary(bus, accepting),
    startMasterBinary(bus, ["--enroll-evidence-tpm-ca", maker.cert]),
    startMasterBinary(bus),
    startTpm(join(bus.dir, "tpm"), maker),
  ]);
});
afterAll(async () => {
  await tpm?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await second?.[Symbol.asyncDispose]();
  await plain?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Evidence of a certificate, made from the description of the wire format alone. */
async function submitX509(
  of: MasterDaemon,
  peel: Enrollee,
  leaf: { pem: string; key: string },
  change: { publicKey?: string; chain?: string; challenge?: Buffer } = {},
) {
  const nonce = await takeNonce(door(of), peel);
  const challenge = change.challenge ?? Buffer.from(nonce.challenge, "base64");
  const message = Buffer.concat([
    Buffer.from("svc/evidence/v1\0x509\0"),
    challenge,
    Buffer.from(`\0${change.publicKey ?? peel.publicKey}`),
  ]);
  const signature = company.sign(leaf.key, message).toString("base64");
  const evidence = { type: "x509", chain_pem: change.chain ?? leaf.pem, signature };
  return { nonce, reply: await submit(door(of), submission(peel, nonce, { evidence })) };
}
const leafFor = (host: string) => company.issue({ by: ca, extensions: leafExtensions(host) });
const shown = async (id: string) =>
  JSON.parse((await svc(bus, "enroll", "show", id, "--output", "json")).stdout);

describe("a peel", () => {
  test("with a certificate is shown, listed and selected by it", async () => {
    const { cert, key } = leafFor("web-1.example.com");
    const flags = ["--evidence-x509-cert", cert, "--evidence-x509-key", key];
    await using peel = startPeelBinary(bus, master.url, "web-1.example.com", { flags });
    await peel.program.waitFor("enrollment pending");
    expect(peel.program.output()).toContain("enrolling with evidence");
    const listed = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    expect(listed).toMatchObject([{ peel_id: "web-1_example_com", evidence: "x509" }]);
    const { evidence } = await shown(listed[0].id);
    expect(evidence).toMatchObject({
      type: "x509",
      fields: {
        subject: "O=Example, CN=host",
        names: ["web-1.example.com"],
        authority: "O=Example, CN=Root",
      },
    });
    expect((await svc(bus, "enroll", "list")).stdout).toMatch(/EVIDENCE.*\n.* x509 /);
    expect((await svc(bus, "enroll", "show", listed[0].id)).stdout).toMatch(
      /^evidence +x509\n(?:.*\n)*evidence\.names +web-1\.example\.com$/m,
    );
    expect((await svc(bus, "enroll", "approve", "--all", "--evidence", "ssh", "--yes")).stdout).toBe(
      "0 approved\n",
    );
    expect((await svc(bus, "enroll", "approve", "--all", "--evidence", "x509", "--yes")).stdout).toBe(
      "1 approved\n",
    );
    await peel.program.waitFor('"enrolled"');
  });

  test("with a certificate is admitted by a policy that asks for one, and not without", async () => {
    const { cert, key } = leafFor("a.rack.example.com");
    const flags = ["--evidence-x509-cert", cert, "--evidence-x509-key", key];
    await using peel = startPeelBinary(bus, master.url, "a.rack.example.com", { flags });
    await peel.program.waitFor('"enrolled"');
    await using other = startPeelBinary(bus, master.url, "b.rack.example.com");
    await other.program.waitFor("enrollment pending");
    const listed = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    expect(listed).toMatchObject([{ peel_id: "b_rack_example_com" }]);
    await svc(bus, "enroll", "reject", listed[0].id);
  });

  test("with an SSH host key that is listed meanwhile", async () => {
    const key = ssh.make("ed25519");
    const flags = ["--evidence-ssh-host-key", key.path];
    await using refused = startPeelBinary(bus, master.url, "web-2.example.com", { flags });
    expect(await refused.program.exited).toBe(1);
    expect(refused.program.output()).toContain("evidence does not verify: the SSH host key is not listed");
    writeFileSync(knownHosts, `web-2.example.com ${key.publicKey}\n`);
    await using peel = startPeelBinary(bus, master.url, "web-2.example.com", { dir: refused.dir, flags });
    await peel.program.waitFor("enrollment pending");
    const [record] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    expect((await shown(record.id)).evidence).toEqual({
      type: "ssh",
      fields: { key_type: "ssh-ed25519", fingerprint: ssh.fingerprint(key), host: "web-2.example.com" },
    });
    await svc(bus, "enroll", "reject", record.id);
  });

  test("with a TPM, in two round trips", async () => {
    const flags = ["--evidence-tpm", "--evidence-tpm-tools", tpm.tools, "--evidence-tpm-tcti", tpm.tcti];
    await using peel = startPeelBinary(bus, master.url, "web-10.example.com", { flags });
    await peel.program.waitFor("enrollment pending");
    const [record] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    expect((await shown(record.id)).evidence).toMatchObject({
      type: "tpm",
      fields: { device: expect.stringContaining("swtpm"), authority: "O=Maker, CN=TPM CA" },
    });
    expect((await svc(bus, "enroll", "approve", "--all", "--evidence", "tpm", "--yes")).stdout).toBe(
      "1 approved\n",
    );
    await peel.program.waitFor('"enrolled"');
  });

  test("without a TPM proves the next thing that it has", async () => {
    const { cert, key } = leafFor("web-11.example.com");
    const flags = [
      ...["--evidence-tpm", "--evidence-tpm-tools", bus.dir],
      ...["--evidence-x509-cert", cert, "--evidence-x509-key", key],
    ];
    await using peel = startPeelBinary(bus, master.url, "web-11.example.com", { flags });
    await peel.program.waitFor("enrollment pending");
    expect(peel.program.output()).toContain("this host has no TPM that can be used: enrolling without it");
    const [record] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    expect(record.evidence).toBe("x509");
    await svc(bus, "enroll", "reject", record.id);
  });

  test("sends nothing to a master that does not ask for it, and says so", async () => {
    const { cert, key } = leafFor("web-3.example.com");
    const flags = ["--evidence-x509-cert", cert, "--evidence-x509-key", key];
    await using peel = startPeelBinary(bus, plain.url, "web-3.example.com", { flags });
    await peel.program.waitFor("enrollment pending");
    expect(peel.program.output()).toContain("this master accepts none of the configured evidence");
    const [record] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    expect(record).not.toHaveProperty("evidence");
    await svc(bus, "enroll", "reject", record.id);
  });

  test("with a key that does not fit its certificate ends, and names both", async () => {
    const [{ cert }, { key }] = [leafFor("web-4.example.com"), leafFor("web-4.example.com")];
    const flags = ["--evidence-x509-cert", cert, "--evidence-x509-key", key];
    await using peel = startPeelBinary(bus, master.url, "web-4.example.com", { flags });
    expect(await peel.program.exited).toBe(1);
    expect(peel.program.output()).toContain(
      `evidence.x509_key: ${key} is not the key of the first certificate of ${cert}`,
    );
  });
});

describe("over the wire", () => {
  test("a master says what it accepts, where it accepts something", async () => {
    const peel = newEnrollee();
    expect(await takeNonce(door(master), peel)).toMatchObject({ evidence: ["x509", "ssh", "tpm"] });
    expect(await takeNonce(door(plain), peel)).not.toHaveProperty("evidence");
  });

  test("evidence of another host, another challenge, another key, or of strangers leaves no record", async () => {
    const peel = newEnrollee("web-5_example_com");
    const leaf = leafFor("web-5.example.com");
    const stranger = company.issue({ subject: "/O=Example/CN=Root", extensions: authorityExtensions });
    const refused = [
      await submitX509(master, peel, leafFor("web-6.example.com")),
      await submitX509(master, peel, leaf, { challenge: Buffer.alloc(32, 1) }),
      await submitX509(master, peel, leaf, { publicKey: newEnrollee().publicKey }),
      await submitX509(master, peel, { pem: leaf.pem, key: leafFor("web-5.example.com").key }),
      await submitX509(
        master,
        peel,
        company.issue({ by: stranger, extensions: leafExtensions("web-5.example.com") }),
      ),
      await submitX509(master, peel, leaf, { chain: leaf.pem.slice(0, 200) }),
    ];
    for (const { reply } of refused) {
      expect([reply.status, reply.json]).toEqual([
        401,
        { error: expect.stringMatching(/^evidence does not verify: /) },
      ]);
    }
    const all = await svc(bus, "enroll", "list", "--state", "all", "--output", "json");
    expect(all.stdout).not.toContain("web-5_example_com");
    // The same answer a second time: the challenge is used up, whatever became of it.
    const { nonce, reply } = await submitX509(master, peel, leaf);
    expect(reply.status).toBe(201);
    expect((await submit(door(master), submission(peel, nonce))).json).toEqual({
      error: "challenge verification failed",
    });
  });

  test("the body may have 16 KB where evidence is configured, and 4 KB elsewhere", async () => {
    const sized = async (of: MasterDaemon, bytes: number) => {
      const peel = newEnrollee();
      const body = submission(peel, await takeNonce(door(of), peel), { metadata: { filler: "" } });
      const missing = bytes - JSON.stringify(body).length;
      return (await submit(door(of), { ...body, metadata: { filler: "x".repeat(missing) } })).status;
    };
    expect([await sized(plain, 4096), await sized(plain, 4097)]).toEqual([201, 413]);
    expect([await sized(master, 16_384), await sized(master, 16_385)]).toEqual([201, 413]);
  });

  test("a TPM gets a secret only for its challenge, and only where it is accepted", async () => {
    const peel = newEnrollee();
    const { challenge_id } = await takeNonce(door(master), peel);
    const request = (of: MasterDaemon, change: Record<string, string> = {}) =>
      postJson(door(of), "/api/v1/enroll/tpm", {
        ...{ peel_id: peel.peelId, public_key: peel.publicKey, challenge_id },
        ...{ ek_certificate: "AAAA", ak_public: "AAAA", ...change },
      });
    const answers = [
      await request(plain),
      await request(master),
      await request(master, { peel_id: "web-12_example_com" }),
      await request(master, {
        challenge_id: challenge_id.replace(/.$/, (last) => (last === "a" ? "b" : "a")),
      }),
    ];
    expect(answers.map(({ status, json }) => [status, (json as { error: string }).error])).toEqual([
      [404, "this master accepts no TPM: enroll.evidence.tpm_ca is not set"],
      [401, "evidence does not verify: ek_certificate is not a certificate in DER"],
      [400, "peel_id and public_key must be those of the nonce request"],
      [401, "challenge verification failed"],
    ]);
  });

  test("one master makes the secret for a TPM, and another one verifies it", async () => {
    const peel = newEnrollee();
    const nonce = await takeNonce(door(second), peel);
    const challenge = Buffer.from(nonce.challenge, "base64");
    const evidence = await proveTpm(
      {
        ...tpm,
        dataDir: bus.dir,
        clock: systemClock,
        signal: new AbortController().signal,
        log: recordingLog(),
      },
      {
        ...{ accepts: ["tpm"], challenge, publicKey: peel.publicKey },
        async credential(keys) {
          const ids = { peel_id: peel.peelId, public_key: peel.publicKey, challenge_id: nonce.challenge_id };
          const { json } = await postJson(door(second), "/api/v1/enroll/tpm", { ...ids, ...keys });
          return json as { credential_blob: string; encrypted_secret: string };
        },
      },
    );
    const reply = await submit(door(master), submission(peel, nonce, { evidence }));
    expect([reply.status, (await shown((reply.json as { id: string }).id)).evidence.type]).toEqual([
      201,
      "tpm",
    ]);
    // The same with another key of a peel: the secret is not for it.
    const thief = newEnrollee(peel.peelId);
    const stolen = await submit(
      door(master),
      submission(thief, await takeNonce(door(master), thief), { evidence }),
    );
    expect([stolen.status, stolen.json]).toEqual([
      401,
      { error: expect.stringContaining("the secret does not match") },
    ]);
  });

  test("evidence of a type that a master does not accept is ignored, and logged", async () => {
    const peel = newEnrollee("web-7_example_com");
    const { reply } = await submitX509(plain, peel, leafFor("web-7.example.com"));
    expect(reply.status).toBe(201);
    expect(await shown((reply.json as { id: string }).id)).not.toHaveProperty("evidence");
    expect(logRecords(plain.program)).toContainEqual(
      expect.objectContaining({
        msg: "evidence ignored: this master is not configured to verify it",
        evidence: "x509",
      }),
    );
  });

  test.each([
    ["a text", "evidence: expected object", "x509"],
    ["another type", "evidence.type: expected one of x509, tpm, ssh", { type: "gpg" }],
    ["no chain", "evidence.chain_pem is required", { type: "x509", signature: "" }],
    [
      "a long chain",
      "evidence.chain_pem must have at most 12288 characters",
      { type: "x509", chain_pem: "x".repeat(12_289), signature: "" },
    ],
    ["no key", "evidence.public_key is required", { type: "ssh", signature: "" }],
    ["a number", "evidence.signature: expected string", { type: "ssh", public_key: "", signature: 5 }],
    [
      "an unknown key",
      'unknown key "evidence.signatur" (did you mean signature?)',
      { type: "x509", chain_pem: "", signature: "", signatur: 1 },
    ],
  ])("a malformed one is told what is wrong: %s", async (_, problem, evidence) => {
    const peel = newEnrollee();
    const reply = await submit(
      door(master),
      submission(peel, await takeNonce(door(master), peel), { evidence }),
    );
    expect([reply.status, reply.json]).toEqual([400, { error: expect.stringContaining(problem) }]);
  });

  test("while a list cannot be read, its evidence is refused for now and the log names the line", async () => {
    const key = ssh.make("ed25519");
    writeFileSync(knownHosts, `web-8.example.com ${key.publicKey}\n@revokd * ${key.publicKey}\n`);
    const peel = newEnrollee("web-8_example_com");
    const evidence = { type: "ssh", public_key: key.publicKey, signature: "" };
    const reply = await submit(
      door(master),
      submission(peel, await takeNonce(door(master), peel), { evidence }),
    );
    expect([reply.status, reply.json]).toEqual([
      503,
      { error: "this master cannot verify evidence now: its log has the reason" },
    ]);
    await master.program.waitFor(`${knownHosts}, line 2: expected host names`);
    // Other evidence goes on.
    const other = newEnrollee("web-9_example_com");
    expect((await submitX509(master, other, leafFor("web-9.example.com"))).reply.status).toBe(201);
  });
});
