import { existsSync } from "node:fs";
import { join } from "node:path";
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
  const mode = options.config["ca.mode"];
  const embedded =
    mode === "embedded" || (mode === "auto" && existsSync(join(options.config["ca.dir"], "root.crt")));
  return embedded ? createIssuedCertificate(options) : createFileCertificate(options);
}
