import type { EvidenceType } from "../../identity/evidence/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { Prove } from "./evidence-request.ts";
import { proveSsh } from "./ssh.ts";
import { proveTpm, type TpmAccess } from "./tpm.ts";
import { proveX509 } from "./x509.ts";

type ProverDeps = Pick<TpmAccess, "dataDir" | "clock" | "signal" | "log">;

/**
 * Proves what the configuration names. A master takes one piece of evidence, so it gets the first one that it
 * accepts, in the order TPM, certificate, SSH host key.
 *
 * @returns `undefined` when nothing is configured
 */
export function createProver(config: PeelConfig, deps: ProverDeps): Prove | undefined {
  const { log } = deps;
  const ways: [EvidenceType, Prove][] = [];
  if (config["evidence.tpm"]) {
    const access = { tools: config["evidence.tpm_tools"], tcti: config["evidence.tpm_tcti"], ...deps };
    ways.push(["tpm", (request) => proveTpm(access, request)]);
  }
  const { "evidence.x509_cert": cert, "evidence.x509_key": key, "evidence.ssh_host_key": hostKey } = config;
  if (cert !== "") ways.push(["x509", async (request) => proveX509({ cert, key }, request)]);
  if (hostKey !== "") ways.push(["ssh", async (request) => proveSsh(hostKey, request)]);
  if (ways.length === 0) return undefined;
  return async (request) => {
    const accepted = ways.filter(([type]) => request.accepts.includes(type));
    if (accepted.length === 0) {
      log.warn("this master accepts none of the configured evidence: enrolling without", {
        configured: ways.map(([type]) => type),
        accepts: request.accepts,
      });
    }
    for (const [type, prove] of accepted) {
      const evidence = await prove(request);
      if (evidence === undefined) continue;
      log.info("enrolling with evidence", { evidence: type });
      return evidence;
    }
    return undefined;
  };
}

/**
 * Reads what the configuration names, without a master. A TPM is not tried.
 *
 * @returns the types that are configured
 * @throws SvcError `bad_request` naming the key of the configuration whose file cannot be used
 */
export function inspectProofs(config: PeelConfig): EvidenceType[] {
  const nothing = { challenge: new Uint8Array(32), publicKey: "" };
  const { "evidence.x509_cert": cert, "evidence.x509_key": key, "evidence.ssh_host_key": hostKey } = config;
  const types: EvidenceType[] = config["evidence.tpm"] ? ["tpm"] : [];
  if (cert !== "") types.push(proveX509({ cert, key }, nothing).type);
  if (hostKey !== "") types.push(proveSsh(hostKey, nothing).type);
  return types;
}
