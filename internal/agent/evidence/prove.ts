import type { Log } from "../../base/log.ts";
import type { EvidenceType } from "../../identity/evidence/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import { proveSsh } from "./ssh.ts";
import { proveX509 } from "./x509.ts";

/** What a master asks to sign. */
export interface Asked {
  /** The types of evidence that this master accepts. */
  accepts: readonly string[];
  /** 32 bytes. */
  challenge: Uint8Array;
  /** The key of the peel, `U…`. */
  publicKey: string;
}

/** The field `evidence` of an enrollment. */
export type EvidenceBody = { type: EvidenceType } & Record<string, string>;

/**
 * Makes the evidence to send; `undefined` for none.
 *
 * @throws SvcError `bad_request` naming the key of the configuration whose file cannot be used
 */
export type Prove = (asked: Asked) => Promise<EvidenceBody | undefined>;

/**
 * Proves what the configuration names. A master takes one piece of evidence, so it gets the first one that it
 * accepts, in the order TPM, certificate, SSH host key.
 *
 * @returns `undefined` when nothing is configured
 */
export function createProver(config: PeelConfig, { log }: { log: Log }): Prove | undefined {
  const ways: [EvidenceType, Prove][] = [];
  const { "evidence.x509_cert": cert, "evidence.x509_key": key, "evidence.ssh_host_key": hostKey } = config;
  if (cert !== "") ways.push(["x509", async (asked) => proveX509({ cert, key }, asked)]);
  if (hostKey !== "") ways.push(["ssh", async (asked) => proveSsh(hostKey, asked)]);
  if (ways.length === 0) return undefined;
  return async (asked) => {
    const accepted = ways.filter(([type]) => asked.accepts.includes(type));
    if (accepted.length === 0) {
      log.warn("this master accepts none of the configured evidence: enrolling without", {
        configured: ways.map(([type]) => type),
        accepts: asked.accepts,
      });
    }
    for (const [type, prove] of accepted) {
      const evidence = await prove(asked);
      if (evidence === undefined) continue;
      log.info("enrolling with evidence", { evidence: type });
      return evidence;
    }
    return undefined;
  };
}
