import { rfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { authorityPaths } from "../../identity/ca/paths.ts";
import { type Reissued, reissueIntermediate, reissueRoot } from "../../identity/ca/reissue.ts";
import type { Cli } from "../../program/command-line/command.ts";
import { command } from "../../program/command-line/command.ts";
import { readFlag } from "../../program/command-line/flag.ts";
import { formatFields } from "../../program/command-line/print.ts";
import { dirArg } from "./args.ts";

export const renewRootCommand = command({
  name: "renew-root",
  description:
    "Issue the root certificate again under its key: the SPKI pin stays, and all below it stays valid. Needs root.key.",
  args: {
    dir: dirArg,
    "root-validity": {
      type: "string",
      valueHint: "duration",
      default: "87600h",
      description: "How long the new certificate is valid, from now",
    },
  },
  async run({ dir, "root-validity": validity }, cli) {
    const validityMs = readFlag("--root-validity", validity, parseDuration);
    const { clock, random } = cli;
    const path = authorityPaths(dir).rootCrt;
    await tell(await reissueRoot({ dir, validityMs, clock, random }), path, cli);
    cli.say(
      `Copy ${path} to every master. Masters pick it up within an hour; pins of peels stay as they are.`,
    );
  },
});

export const renewIntermediateCommand = command({
  name: "renew-intermediate",
  description:
    "Issue the intermediate certificate again under its key, for 5 years: all below it stays valid. Needs root.key.",
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const { clock, random } = cli;
    const path = authorityPaths(dir).subCrt;
    await tell(await reissueIntermediate({ dir, clock, random }), path, cli);
    cli.say(`Copy ${path} to every master, and issue the certificates of bus servers again.`);
  },
});

async function tell({ before, after }: Reissued, path: string, cli: Cli): Promise<void> {
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
