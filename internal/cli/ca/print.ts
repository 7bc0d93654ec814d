import { rfc3339 } from "../../base/clock.ts";
import { type CertificateSummary, inspectAuthority } from "../../identity/ca/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { dirArg } from "./args.ts";

export const printCommand = command({
  name: "print",
  description: "Show the CA and the PEM bundle that clients trust.",
  examples: ["svc ca print"],
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const { root, intermediate, bundlePem, hasRootKey } = inspectAuthority(dir);
    const data = {
      root: fieldsOf(root),
      intermediate: fieldsOf(intermediate),
      root_key_present: hasRootKey,
      ca_bundle_pem: bundlePem,
    };
    await cli.print(data, () =>
      [
        describe("Root", root),
        describe("Intermediate", intermediate),
        hasRootKey
          ? "The root key is in this directory. It is only needed for a new intermediate: keep it offline."
          : "The root key is absent. It is only needed for a new intermediate, not to issue certificates.",
        bundlePem,
      ].join("\n\n"),
    );
  },
});

function fieldsOf(certificate: CertificateSummary) {
  return {
    subject: certificate.subject,
    issuer: certificate.issuer,
    not_before: rfc3339(certificate.notBefore),
    not_after: rfc3339(certificate.notAfter),
    certificate_fingerprint: certificate.fingerprint,
    spki_pin: certificate.pin,
  };
}

function describe(title: string, certificate: CertificateSummary): string {
  return formatFields([
    [title, certificate.subject],
    ["  Issuer", certificate.issuer],
    ["  Valid from", rfc3339(certificate.notBefore)],
    ["  Valid until", rfc3339(certificate.notAfter)],
    ["  Fingerprint", certificate.fingerprint],
    ["  SPKI pin", certificate.pin],
  ]);
}
