import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import { sha256 } from "../../base/sha256.ts";
import { evidenceMessage } from "../../identity/evidence/mod.ts";
import type { EvidenceBody, EvidenceRequest } from "./evidence-request.ts";

/** How to reach the TPM of this host. */
export interface TpmAccess {
  /** Directory of the commands of tpm2-tools; empty for the usual ones. */
  tools: string;
  /** `--tcti` of these commands; empty for their default. */
  tcti: string;
  /** A private directory of the peel, for files of a moment. */
  dataDir: string;
  clock: Clock;
  signal: AbortSignal;
  log: Log;
}

/** One command. @throws NoTpm */
type Run = (name: string, ...args: string[]) => Promise<void>;

/** Why the TPM cannot be used. */
class NoTpm extends Error {}

/** Where makers store the certificates of endorsement keys (TCG EK Credential Profile), and the kinds of the keys. */
const endorsements: Ways = [
  ["0x1c00002", "rsa"],
  ["0x1c0000a", "ecc"],
];
/** Algorithms and schemes of attestation keys, the better one first. */
const attestationKeys: Ways = [
  ["ecc", "ecdsa"],
  ["rsa", "rsassa"],
];
type Way = readonly [string, string];
type Ways = readonly [Way, ...Way[]];
const commandTimeoutMs = 60_000;
/** Of the names of the directories for files of a moment. */
const prefix = ".tpm-";
/** Of `tpm2_activatecredential` for its input. */
const credentialHeader = Buffer.from("badcc0de00000001", "hex");

/**
 * Evidence of the TPM 2.0 of this host, by tpm2-tools. Nothing remains in the TPM.
 *
 * @returns `undefined` when this host has no TPM that can be used; the log says why
 * @throws what `asked.credential` throws
 */
export async function proveTpm(
  access: TpmAccess,
  request: EvidenceRequest,
): Promise<EvidenceBody | undefined> {
  removeFiles(access.dataDir);
  const dir = mkdtempSync(join(access.dataDir, prefix));
  try {
    return await prove(commandsIn(dir, access), dir, request);
  } catch (thrown) {
    if (!(thrown instanceof NoTpm)) throw thrown;
    access.log.warn("this host has no TPM that can be used: enrolling without it", {
      reason: thrown.message,
    });
    return undefined;
  } finally {
    removeFiles(access.dataDir);
  }
}

/** Removes the files of this peel, also those that it left when it was killed. */
function removeFiles(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(prefix)) rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

async function prove(run: Run, dir: string, request: EvidenceRequest): Promise<EvidenceBody | undefined> {
  const read = (name: string) => readFileSync(join(dir, name));
  const kind = await readCertificate(run);
  await run("tpm2_createek", "-c", "ek.ctx", "-G", kind, "-u", "ek.pub");
  await firstOf(attestationKeys, ([algorithm, scheme]) =>
    run(
      ...(["tpm2_createak", "-C", "ek.ctx", "-c", "ak.ctx", "-u", "ak.pub"] as const),
      ...(["-G", algorithm, "-s", scheme, "-g", "sha256"] as const),
    ),
  );
  const keys = {
    ek_certificate: certificateIn(read("ek.der")).toString("base64"),
    ak_public: read("ak.pub").toString("base64"),
  };
  const credential = await request.credential(keys);
  if (credential === undefined) return undefined;
  const parts = [credential.credential_blob, credential.encrypted_secret];
  const content = Buffer.concat([credentialHeader, ...parts.map((part) => Buffer.from(part, "base64"))]);
  writeFileSync(join(dir, "credential"), content, { mode: 0o600 });
  const digest = sha256(evidenceMessage("tpm", request.challenge, request.publicKey)).toString("hex");
  await run(
    ...(["tpm2_quote", "-c", "ak.ctx", "-l", "sha256:0", "-g", "sha256"] as const),
    ...(["-q", digest, "-m", "attest", "-s", "signature"] as const),
  );
  // The policy of endorsement keys asks for the password of their hierarchy, which is empty unless an owner set it.
  await run("tpm2_startauthsession", "--policy-session", "-S", "session.ctx");
  await run("tpm2_policysecret", "-S", "session.ctx", "-c", "e");
  await run(
    ...(["tpm2_activatecredential", "-c", "ak.ctx", "-C", "ek.ctx", "-P", "session:session.ctx"] as const),
    ...(["-i", "credential", "-o", "secret"] as const),
  );
  await run("tpm2_flushcontext", "session.ctx");
  return {
    type: "tpm",
    ...keys,
    attest: read("attest").toString("base64"),
    signature: read("signature").toString("base64"),
    secret: read("secret").toString("base64"),
  };
}

/** Reads the first endorsement certificate to `ek.der`. @returns the kind of its key */
async function readCertificate(run: Run): Promise<string> {
  const [, kind] = await firstOf(endorsements, ([index]) =>
    run("tpm2_nvread", "-C", index, index, "-o", "ek.der"),
  );
  return kind;
}

/** Tries one way after the other. @throws what the last one throws */
async function firstOf(ways: Ways, attempt: (way: Way) => Promise<void>): Promise<Way> {
  const [way, ...others] = ways;
  try {
    await attempt(way);
    return way;
  } catch (thrown) {
    const [next, ...rest] = others;
    if (next === undefined || !(thrown instanceof NoTpm)) throw thrown;
    return firstOf([next, ...rest], attempt);
  }
}

/** A certificate without what fills the rest of its place in the TPM. */
function certificateIn(bytes: Buffer): Buffer {
  const isLong = bytes[0] === 0x30 && bytes[1] === 0x82;
  return isLong && bytes.length >= 4 ? bytes.subarray(0, 4 + bytes.readUInt16BE(2)) : bytes;
}

function commandsIn(dir: string, { tools, tcti, clock, signal }: TpmAccess): Run {
  const env = { ...cleanEnvironment(undefined), ...(tcti === "" ? {} : { TPM2TOOLS_TCTI: tcti }) };
  const start = async (name: string, args: readonly string[]) => {
    const program = tools === "" ? name : join(tools, name);
    try {
      return await runProcess({
        argv: [program, ...args],
        ...{ env, cwd: dir, umask: 0o077, timeoutMs: commandTimeoutMs, signal, clock },
      });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof SvcError)) throw thrown;
      throw new NoTpm(`${name} of tpm2-tools cannot be started: ${describeError(thrown)}`);
    }
  };
  return async (name, ...args) => {
    const { code, stderr } = await start(name, args);
    signal.throwIfAborted();
    // A resource manager keeps the objects of others apart. Without one, the few places would fill up.
    if (name !== "tpm2_flushcontext") await start("tpm2_flushcontext", ["-t"]);
    if (code === 0) return;
    const reason = stderr.text.split("\n").find((line) => line.startsWith("ERROR")) ?? "";
    throw new NoTpm(beginningOf(`${name} failed with code ${code} ${reason}`.trim(), 300));
  };
}
