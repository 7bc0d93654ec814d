import { rfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { authorityPaths, type Reissued, reissueIntermediate, reissueRoot } from "../../identity/ca/mod.ts";
import { type Cli, command, formatFields, readFlag, value } from "../../program/command-line/mod.ts";
import { dirArg } from "./args.ts";

export const renewRootCommand = command({
  name: "renew-root",
  description:
    "Reissue the root certificate for the same key. The SPKI pin and all issued certificates stay valid. Needs root.key.",
  examples: ["svc ca renew-root"],
  args: {
    dir: dirArg,
    "root-validity": value("duration", "Validity of the new certificate, from now", { default: "87600h" }),
  },
  async run({ dir, "root-validity": validity }, cli) {
    const validityMs = readFlag("--root-validity", validity, parseDuration);
    const { clock, random } = cli;
    const path = authorityPaths(dir).rootCrt;
    await report(await reissueRoot({ dir, validityMs, clock, random }), path, cli);
    cli.say(`Copy ${path} to every master. Masters load it within an hour. The pins of peels stay the same.`);
  },
});

export const renewIntermediateCommand = command({
  name: "renew-intermediate",
  description:
    "Reissue the intermediate certificate for the same key and 5 years. All issued certificates stay valid. Needs root.key.",
  examples: ["svc ca renew-intermediate"],
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const { clock, random } = cli;
    const path = authorityPaths(dir).subCrt;
    await report(await reissueIntermediate({ dir, clock, random }), path, cli);
    cli.say(`Copy ${path} to every master, and reissue the certificates of bus servers.`);
  },
});

async function report({ before, after }: Reissued, path: string, cli: Cli): Promise<void> {
  const data = {
    file: path,
    subject: after.subject,
    not_before: rfc3339(after.notBefore),
    not_after: rfc3339(after.notAfter),
    previous_not_after: rfc3339(before.notAfter),
    certificate_fingerprint: after.fingerprint,
    spki_pin: after.pin,
  };
  await cli.print(data, () =>
    formatFields([
      ["File", data.file],
      ["Subject", data.subject],
      ["Valid from", data.not_before],
      ["Valid until", `${data.not_after} (before: ${data.previous_not_after})`],
      ["Fingerprint", data.certificate_fingerprint],
      ["SPKI pin", data.spki_pin],
    ]),
  );
}
