import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Issued } from "./company-authority.ts";
import { runProgram, startProgram } from "./process.ts";
import { until } from "./until.ts";

const tools = join(import.meta.dir, "../../.tools/bin");

/** A TPM 2.0 in software. */
export interface TestTpm extends AsyncDisposable {
  /** Directory of the commands of tpm2-tools. */
  tools: string;
  /** How they reach it. */
  tcti: string;
}

/**
 * Makes a TPM with an endorsement certificate of this authority, and starts it.
 *
 * @param authority with an RSA key
 * @param kind of the endorsement key
 */
export async function startTpm(
  dir: string,
  authority: Issued,
  kind: "rsa" | "ecc" = "rsa",
): Promise<TestTpm> {
  const swtpm = join(tools, "swtpm");
  if (!existsSync(swtpm)) throw new Error("there is no swtpm: run make tpm-tools");
  const state = join(dir, "state");
  for (const path of [dir, state]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const file = (name: string, lines: readonly string[]) => {
    writeFileSync(join(dir, name), `${lines.join("\n")}\n`);
    return join(dir, name);
  };
  copyFileSync(authority.cert, join(dir, "issuer.pem"));
  copyFileSync(authority.key, join(dir, "signkey.pem"));
  const config = file("setup.conf", [
    `create_certs_tool = ${join(tools, "swtpm_localca")}`,
    `create_certs_tool_config = ${file("localca.conf", [
      `statedir = ${dir}`,
      `signingkey = ${join(dir, "signkey.pem")}`,
      `issuercert = ${join(dir, "issuer.pem")}`,
      `certserial = ${file("serial", ["1"])}`,
    ])}`,
    `create_certs_tool_options = ${file("localca.options", ["--platform-manufacturer Example", "--platform-model test", "--platform-version 1"])}`,
  ]);
  const setup = await runProgram([
    ...[join(tools, "swtpm_setup"), "--tpm2", "--tpm", `${swtpm} socket`, "--tpmstate", state],
    ...["--config", config, "--create-ek-cert", "--overwrite", ...(kind === "ecc" ? ["--ecc"] : [])],
  ]);
  if (setup.code !== 0) throw new Error(`swtpm_setup: ${setup.stdout}${setup.stderr}`);
  const socket = join(dir, "tpm");
  const program = startProgram([
    ...[swtpm, "socket", "--tpm2", "--tpmstate", `dir=${state}`, "--flags", "not-need-init,startup-clear"],
    ...["--server", `type=unixio,path=${socket}`, "--ctrl", `type=unixio,path=${socket}.ctrl`],
  ]);
  await until(async () => existsSync(socket) && existsSync(`${socket}.ctrl`), Boolean);
  return {
    tools,
    tcti: `swtpm:path=${socket}`,
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}
