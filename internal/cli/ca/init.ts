import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { createAuthority } from "../../identity/ca/mod.ts";
import { command, formatFields, readFlag, value } from "../../program/command-line/mod.ts";
import { dirArg } from "./args.ts";

export const initCommand = command({
  name: "init",
  description:
    "Create a CA: a root, and an intermediate that signs certificates. Existing files are never overwritten.",
  examples: ["svc ca init --org Example"],
  args: {
    dir: dirArg,
    org: value("name", "Organization in the subject names", { default: "svc" }),
    cn: value("name", "Common name of the root (default: <org> Root CA)"),
    "root-validity": value("duration", "Validity of the root; the intermediate is valid for 5 years", {
      default: "87600h",
    }),
  },
  async run({ dir, org, cn, "root-validity": validity }, cli) {
    const root = await createAuthority({
      dir,
      organization: org,
      ...defined({ commonName: cn }),
      rootValidityMs: readFlag("--root-validity", validity, parseDuration),
      clock: cli.clock,
      random: cli.random,
    }).catch((cause) => {
      if (!(cause instanceof SvcError && cause.kind === "conflict")) throw cause;
      throw new SvcError("conflict", `${cause.message}: choose another --dir, or move the existing CA`);
    });
    const data = {
      dir,
      subject: root.subject,
      not_before: rfc3339(root.notBefore),
      not_after: rfc3339(root.notAfter),
      certificate_fingerprint: root.fingerprint,
      spki_pin: root.pin,
    };
    await cli.print(data, () =>
      formatFields([
        ["Root subject", data.subject],
        ["Valid from", data.not_before],
        ["Valid until", data.not_after],
        ["Fingerprint", data.certificate_fingerprint],
        ["SPKI pin", data.spki_pin],
      ]),
    );
    cli.say(`Keep a copy of ${dir} in a safe place. Masters need every file except root.key.`);
  },
});
