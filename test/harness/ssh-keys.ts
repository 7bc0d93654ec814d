import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { startProgram } from "./process.ts";
import { until } from "./until.ts";

// Keys, certificates and signatures as OpenSSH makes them: nothing here uses the code under test.

/** A key of SSH in files: `path`, and `path.pub`. */
export interface SshKey {
  path: string;
  /** `<type> <base64>` */
  publicKey: string;
}

/** Makes keys and certificates in a directory. */
export function sshKeys(dir: string) {
  let made = 0;
  const read = (path: string) => readFileSync(path, "utf8").trim().split(" ").slice(0, 2).join(" ");
  return {
    make(type: "ed25519" | "ecdsa" | "rsa", ...more: string[]): SshKey {
      const path = join(dir, `key-${++made}`);
      sshKeygen("-q", "-t", type, "-N", "", "-C", "", "-f", path, ...more);
      return { path, publicKey: read(`${path}.pub`) };
    },
    /** Has an authority certify a key, with these options of `ssh-keygen -s`; it is written next to the key. */
    certify(authority: SshKey, key: SshKey, ...options: string[]): string {
      sshKeygen("-q", "-s", authority.path, "-I", "the-host", ...options, `${key.path}.pub`);
      return read(`${key.path}-cert.pub`);
    },
    /** The text of a known_hosts file with all its names hashed. */
    hash(text: string): string {
      const path = join(dir, `known-${++made}`);
      writeFileSync(path, text);
      sshKeygen("-q", "-H", "-f", path);
      return readFileSync(path, "utf8");
    },
    /** As `ssh-keygen -l` shows it. */
    fingerprint: (key: SshKey) => sshKeygen("-l", "-f", `${key.path}.pub`).split(" ")[1] ?? "",
  };
}

/** Starts an agent that signs with these keys. */
export async function startSshAgent(
  dir: string,
  keys: readonly SshKey[],
): Promise<AsyncDisposable & { sign(publicKey: string, message: Uint8Array): Promise<Buffer> }> {
  const socket = join(dir, "agent");
  const agent = startProgram(["ssh-agent", "-D", "-a", socket]);
  const add = () =>
    Bun.spawnSync(["ssh-add", "-q", ...keys.map(({ path }) => path)], { env: { SSH_AUTH_SOCK: socket } })
      .exitCode;
  await until(
    async () => add(),
    (code) => code === 0,
  );
  return {
    async sign(publicKey, message) {
      const blob = Buffer.from(publicKey.split(" ")[1] ?? "", "base64");
      // SSH_AGENTC_SIGN_REQUEST, and SSH_AGENT_RSA_SHA2_256 for keys that need it.
      const request = [Buffer.of(13), prefixed(blob), prefixed(message), Buffer.of(0, 0, 0, 2)];
      const answer = await exchange(socket, prefixed(Buffer.concat(request)));
      if (answer[4] !== 14) throw new Error(`the agent did not sign: ${answer[4]}`);
      return answer.subarray(9, 9 + answer.readUInt32BE(5));
    },
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
}

function exchange(socket: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    let answer = Buffer.alloc(0);
    connection.on("error", reject);
    connection.on("data", (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < 4 || answer.length < 4 + answer.readUInt32BE(0)) return;
      connection.destroy();
      resolve(answer);
    });
    connection.write(request);
  });
}

function prefixed(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function sshKeygen(...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["ssh-keygen", ...args], { stdin: "ignore" });
  if (exitCode !== 0) throw new Error(`ssh-keygen ${args.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}
