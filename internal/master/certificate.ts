import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { readTextFile } from "../base/file.ts";
import type { Random } from "../base/id.ts";
import { issueCertificate } from "../ca/issue.ts";
import { loadAuthority } from "../ca/load.ts";
import type { MasterConfig } from "../config/load.ts";
import { spkiPin } from "../trust/pin.ts";

/** What the HTTPS listener serves, and the CA root behind it where the master knows it. */
export interface EnrollCertificate {
  cert: string;
  key: string;
  /** Only with an embedded CA. */
  root?: { pem: string; pin: string };
}

/**
 * The certificate of the HTTPS listener (specification, "ca.mode semantics"): issued here by the
 * embedded CA, or read from files.
 *
 * @throws SvcError `bad_request` naming the file that is missing and the command that makes it
 */
export async function loadEnrollCertificate(options: {
  config: MasterConfig;
  hostname: string;
  clock: Clock;
  random: Random;
}): Promise<EnrollCertificate> {
  const { config, hostname, clock, random } = options;
  const dir = config["ca.dir"];
  const mode = config["ca.mode"];
  const embedded = mode === "embedded" || (mode === "auto" && existsSync(join(dir, "root.crt")));
  if (!embedded) {
    return {
      cert: readTextFile(config["enroll.tls_cert"], "enroll.tls_cert"),
      key: readTextFile(config["enroll.tls_key"], "enroll.tls_key"),
    };
  }
  const authority = await loadAuthority(dir);
  const issued = await issueCertificate(authority, {
    commonName: "svc-master",
    names: [hostname, "localhost", ...config["ca.enroll_sans"]],
    usage: "enroll",
    validityMs: config["ca.enroll_cert_validity"],
    clock,
    random,
  });
  return {
    cert: issued.certPem,
    key: issued.keyPem,
    root: { pem: authority.rootPem, pin: spkiPin(authority.rootPem) },
  };
}
