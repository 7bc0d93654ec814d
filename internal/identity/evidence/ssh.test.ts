import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type SshKey, sshKeys, startSshAgent } from "../../../test/harness/ssh-keys.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { type KnownHosts, readKnownHosts } from "./known-hosts.ts";
import { evidenceMessage } from "./message.ts";
import { type SshEvidence, verifySsh } from "./ssh.ts";

const directory = temporaryDirectory("ssh");
const { make, certify, hash, fingerprint } = sshKeys(directory.path);

const host = "web-1.example.com";
const challenge = Buffer.alloc(32, 7);
const publicKey = `U${"A".repeat(55)}`;
const claim = { challenge, publicKey, host };
const message = evidenceMessage("ssh", challenge, publicKey);
const now = Date.UTC(2026, 5, 1);

const keys = {
  ed25519: make("ed25519"),
  "ecdsa-256": make("ecdsa", "-b", "256"),
  "ecdsa-384": make("ecdsa", "-b", "384"),
  "ecdsa-521": make("ecdsa", "-b", "521"),
};
const key = keys.ed25519;
const other = make("ed25519");
const rsa = make("rsa", "-b", "2048");
const authorities = { ed25519: make("ed25519"), ecdsa: make("ecdsa"), rsa: make("rsa", "-b", "3072") };
const authority = authorities.ed25519;

let agent: Awaited<ReturnType<typeof startSshAgent>>;
beforeAll(async () => {
  agent = await startSshAgent(directory.path, [...Object.values(keys), other, rsa]);
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const lists = (...lines: string[]) => readKnownHosts(lines.join("\n"), "known_hosts");
const sign = async (by: SshKey, bytes: Uint8Array = message) =>
  (await agent.sign(by.publicKey, bytes)).toString("base64");
const evidence = async (of: SshKey, certificate?: string): Promise<SshEvidence> => ({
  publicKey: of.publicKey,
  ...(certificate === undefined ? {} : { certificate }),
  signature: await sign(of),
});

/** Why evidence is refused. */
function reasonOf(sent: SshEvidence, known: KnownHosts, at = now): string {
  try {
    verifySsh(sent, claim, { known, now: at });
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "unauthorized") return thrown.message;
    throw thrown;
  }
  return "accepted";
}

describe("a listed key", () => {
  test.each(Object.entries(keys))("%s, signed by ssh-agent", async (_, of) => {
    const sent = await evidence(of);
    expect(verifySsh(sent, claim, { known: lists(`${host} ${of.publicKey}`), now })).toEqual({
      type: "ssh",
      fields: { key_type: of.publicKey.split(" ")[0] ?? "", fingerprint: fingerprint(of), host },
    });
  });

  const { publicKey: listed } = key;
  test.each([
    ["its name", `${host} ${listed}`, true],
    ["its name among others, with a comment", `a,${host},192.0.2.1 ${listed} a comment`, true],
    ["its name in capital letters", `${host.toUpperCase()} ${listed}`, true],
    ["a pattern", `*.example.com ${listed}`, true],
    ["a pattern with ?", `web-?.example.com ${listed}`, true],
    ["a pattern of stars", `*w*b*.exam*e.com* ${listed}`, true],
    ["a hashed name", () => hash(`${host} ${listed}\n`), true],
    ["the name of another host", `web-2.example.com ${listed}`, false],
    ["a part of its name", `web-1 ${listed}`, false],
    ["a pattern for other hosts", `*.example.org ${listed}`, false],
    ["a pattern that is too short", `web-?.example ${listed}`, false],
    ["a pattern that excludes it", `*.example.com,!web-1.* ${listed}`, false],
    ["only an exclusion", `!web-2.example.com ${listed}`, false],
    ["another port of its name", `[${host}]:2222 ${listed}`, false],
    ["the hashed name of another host", () => hash(`web-2.example.com ${listed}\n`), false],
    ["its name for another key", () => `${host} ${other.publicKey}`, false],
    ["its name as an authority", `@cert-authority ${host} ${listed}`, false],
    ["its name, after a comment sign", `# ${host} ${listed}`, false],
  ])("is accepted, or not, by %s", async (_, lines, isAccepted) => {
    const reported = reasonOf(await evidence(key), lists(typeof lines === "string" ? lines : lines()));
    expect(reported === "accepted").toBe(isAccepted);
    if (!isAccepted) expect(reported).toStartWith("evidence does not verify: the SSH host key is not listed");
  });

  test("a revoked key is refused, whatever lists it and for whichever host", async () => {
    const sent = await evidence(key);
    for (const revoked of ["*", host, "web-9.example.com"]) {
      const known = lists(`${host} ${listed}`, `@revoked ${revoked} ${listed}`);
      expect(reasonOf(sent, known)).toContain("is revoked");
    }
  });
});

describe("the signature", () => {
  const known = lists(`${host} ${key.publicKey}`, `${host} ${keys["ecdsa-256"].publicKey}`);
  test("over another challenge, for another peel, of another type, or by another key is refused", async () => {
    const wrong = [
      await sign(key, evidenceMessage("ssh", Buffer.alloc(32, 8), publicKey)),
      await sign(key, evidenceMessage("ssh", challenge, `U${"B".repeat(55)}`)),
      await sign(key, evidenceMessage("x509", challenge, publicKey)),
      await sign(other),
      await sign(keys["ecdsa-256"]),
      "",
      "not base64!",
    ];
    for (const signature of wrong) {
      expect(reasonOf({ publicKey: key.publicKey, signature }, known)).toContain("the signature is not by");
    }
  });

  test.each([key, keys["ecdsa-256"]])("with any byte changed, cut off or added is refused", async (of) => {
    const { signature } = await evidence(of);
    const bytes = Buffer.from(signature, "base64");
    const reported = (changed: Uint8Array) =>
      reasonOf({ publicKey: of.publicKey, signature: Buffer.from(changed).toString("base64") }, known);
    expect(reported(bytes)).toBe("accepted");
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        for (const one of [changed, bytes.subarray(0, at), Buffer.concat([bytes, Buffer.of(change)])]) {
          expect(reported(one)).toContain("the signature is not by");
        }
      }),
    );
  });
});

describe("a certificate", () => {
  const valid = ["-h", "-n", `alias,${host}`, "-V", "20260101000000Z:20270101000000Z"];
  const trusting = (of: SshKey = authority) => lists(`@cert-authority *.example.com ${of.publicKey}`);

  test.each(Object.entries(authorities))("of an authority with a key of %s is accepted", async (_, by) => {
    const sent = await evidence(key, certify(by, key, ...valid, "-z", "7"));
    expect(verifySsh(sent, claim, { known: trusting(by), now })).toEqual({
      type: "ssh",
      fields: {
        ...{ key_type: "ssh-ed25519", fingerprint: fingerprint(key), host, authority: fingerprint(by) },
        ...{ key_id: "the-host", serial: "7", names: ["alias", host], not_after: "2027-01-01T00:00:00.000Z" },
      },
    });
  });

  test.each(Object.values(keys))("is for a key of every kind", async (of) => {
    expect(reasonOf(await evidence(of, certify(authority, of, ...valid)), trusting())).toBe("accepted");
  });

  test("without an end shows none", async () => {
    const sent = await evidence(key, certify(authority, key, "-h", "-n", host));
    expect(verifySsh(sent, claim, { known: trusting(), now }).fields).not.toHaveProperty("not_after");
  });

  test.each([
    ["of another host", "issued for another host", ["-h", "-n", "web-2.example.com"]],
    ["without a host", "issued for another host", ["-h"]],
    ["with a wildcard", "issued for another host", ["-h", "-n", "*.example.com"]],
    ["of a user", "is not for a host", ["-n", host]],
    ["that has expired", "has expired", ["-h", "-n", host, "-V", "20260101000000Z:20260601000000Z"]],
    ["of tomorrow", "is not valid yet", ["-h", "-n", host, "-V", "20260602000000Z:20270101000000Z"]],
    ["with critical options", "critical options", ["-h", "-n", host, "-O", "critical:lock@example.com=1"]],
  ])("%s is refused", async (_, reason, options) => {
    expect(reasonOf(await evidence(key, certify(authority, key, ...options)), trusting())).toContain(reason);
  });

  test("for another key, of an unknown, revoked or misused authority, is refused", async () => {
    const certificate = certify(authority, key, ...valid);
    const sent = await evidence(key, certificate);
    const refusedBy = (known: KnownHosts) => reasonOf(sent, known);
    expect(reasonOf(await evidence(other, certificate), trusting())).toContain("is for another key");
    expect(refusedBy(lists())).toContain("neither the SSH host key nor the authority");
    expect(refusedBy(trusting(other))).toContain("neither the SSH host key nor the authority");
    expect(refusedBy(lists(`*.example.com ${authority.publicKey}`))).toContain("neither");
    expect(refusedBy(lists(`@cert-authority *.example.org ${authority.publicKey}`))).toContain("neither");
    const line = `@cert-authority *.example.com ${authority.publicKey}`;
    expect(refusedBy(lists(line, `@revoked * ${authority.publicKey}`))).toContain("is revoked");
    expect(refusedBy(lists(line, `@revoked * ${key.publicKey}`))).toContain("is revoked");
    // A key that is listed itself needs no authority.
    expect(refusedBy(lists(`${host} ${key.publicKey}`))).toBe("accepted");
  });

  test("with any byte changed, cut off or added is refused", async () => {
    const certificate = certify(authority, key, ...valid);
    const sent = await evidence(key, certificate);
    const [type = "", encoded = ""] = certificate.split(" ");
    const bytes = Buffer.from(encoded, "base64");
    const reported = (changed: Uint8Array) =>
      reasonOf({ ...sent, certificate: `${type} ${Buffer.from(changed).toString("base64")}` }, trusting());
    expect(reported(bytes)).toBe("accepted");
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        for (const one of [changed, bytes.subarray(0, at), Buffer.concat([bytes, Buffer.of(change)])]) {
          expect(reported(one)).toStartWith("evidence ");
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("whatever is sent", () => {
  const known = lists(`* ${key.publicKey}`, `* ${rsa.publicKey}`);
  test("a key that is not supported, or no key, is refused", async () => {
    expect(reasonOf(await evidence(rsa), known)).toContain("is not an ssh-ed25519 or ecdsa-sha2 key");
    const [type = "", encoded = ""] = key.publicKey.split(" ");
    const blob = Buffer.from(encoded, "base64");
    const smallOrder = Buffer.concat([blob.subarray(0, -32), Buffer.of(1), Buffer.alloc(31)]);
    for (const text of [
      "",
      type,
      `ecdsa-sha2-nistp256 ${encoded}`,
      `${type} ${smallOrder.toString("base64")}`,
    ]) {
      expect(reasonOf({ publicKey: text, signature: await sign(key) }, known)).toContain("public_key is not");
    }
  });

  test("any texts and any bytes are refused, and nothing of them is repeated", () => {
    const type = fc.constantFrom("ssh-ed25519", "ecdsa-sha2-nistp521", "ssh-ed25519-cert-v01@openssh.com");
    const text = fc.oneof(
      fc.string({ minLength: 8 }),
      fc.tuple(type, fc.uint8Array({ maxLength: 200 })).map(([name, bytes]) => {
        const head = Buffer.concat([Buffer.of(0, 0, 0, name.length), Buffer.from(name)]);
        return `${name} ${Buffer.concat([head, bytes]).toString("base64")}`;
      }),
    );
    fc.assert(
      fc.property(text, text, fc.boolean(), (first, second, isOwn) => {
        const sent = { publicKey: isOwn ? key.publicKey : first, certificate: second, signature: first };
        const reported = reasonOf(sent, known);
        expect(reported).toStartWith("evidence ");
        expect(reported).not.toContain(first);
        expect(reported).not.toContain(second);
      }),
    );
  });
});

describe("a known_hosts file", () => {
  test.each([
    ["a line without a key", `${host} ssh-ed25519`],
    ["a key of another type than it says", `${host} ecdsa-sha2-nistp256 ${key.publicKey.split(" ")[1]}`],
    ["an unknown marker", `@revokd * ${key.publicKey}`],
    ["a key that is not base64", `${host} ssh-ed25519 AAAA!`],
    ["an empty name", `a,,b ${key.publicKey}`],
    ["a broken hash", `|1|AAAA|BBBB ${key.publicKey}`],
    ["another hash", `|2|AAAA|${"A".repeat(27)}= ${key.publicKey}`],
  ])("with %s is refused by its line", (_, line) => {
    expect(() => lists("# first", "", line)).toThrow(/^known_hosts, line 3: expected host names/);
  });

  test("of ssh-keyscan, with keys that cannot be evidence, is read", () => {
    const known = lists(
      `# ${host}:22 SSH-2.0-OpenSSH_9.2p1`,
      `${host} ${rsa.publicKey}`,
      "",
      `${host}\t${key.publicKey}\r`,
    );
    const blob = Buffer.from(key.publicKey.split(" ")[1] ?? "", "base64");
    expect([known.lists(host, blob), known.lists("web-2.example.com", blob)]).toEqual([true, false]);
  });

  test("agrees with a plain matcher on any pattern", () => {
    const piece = fc.constantFrom("a", "b", "*", "?", ".");
    const pattern = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(""));
    const name = fc.array(fc.constantFrom("a", "b", "."), { maxLength: 10 }).map((pieces) => pieces.join(""));
    const blob = Buffer.from(key.publicKey.split(" ")[1] ?? "", "base64");
    fc.assert(
      fc.property(pattern, name, (wanted, found) => {
        const form = wanted.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
        const expected = new RegExp(`^${form}$`).test(found);
        expect(lists(`${wanted} ${key.publicKey}`).lists(found, blob)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});
