import { rootPins } from "../../identity/ca/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { dirArg } from "./args.ts";

export const fingerprintCommand = command({
  name: "fingerprint",
  description: "Show the SPKI pin of the root, for enroll_ca_pin of a peel; of both while it is rotated.",
  examples: ["svc ca fingerprint"],
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const [pin, ...next] = rootPins(dir);
    await cli.print({ spki_pin: pin, ...(next.length === 0 ? {} : { next_spki_pin: next[0] }) }, () =>
      [pin, ...next].join("\n"),
    );
  },
});
