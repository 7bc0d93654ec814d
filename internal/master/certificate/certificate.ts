import { existsSync } from "node:fs";
import { join } from "node:path";
import type { MasterConfig } from "../../program/config/mod.ts";
import { createFileCertificate } from "./certificate-files.ts";
import { createIssuedCertificate } from "./certificate-issued.ts";
import type { CertificateOptions, CertificateSource } from "./certificate-source.ts";

/**
 * Opens the certificate of the HTTPS listener (specification, "ca.mode semantics"): issued here by the
 * embedded CA and renewed, or read from files and read again when they are replaced.
 *
 * @throws SvcError `bad_request` naming the file that is missing or does not fit, and the command that makes it
 */
export function createCertificateSource(options: CertificateOptions): Promise<CertificateSource> {
  return isEmbedded(options.config) ? createIssuedCertificate(options) : createFileCertificate(options);
}

/** Whether an embedded CA issues the certificate of the listener. */
export function isEmbedded(config: MasterConfig): boolean {
  const mode = config["ca.mode"];
  return mode === "embedded" || (mode === "auto" && existsSync(join(config["ca.dir"], "root.crt")));
}
