import { rootPin } from "../../identity/ca/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { dirArg } from "./args.ts";

export const fingerprintCommand = command({
  name: "fingerprint",
  description: "Show the SPKI pin of the root, for enroll_ca_pin of a peel.",
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const pin = rootPin(dir);
    await cli.print({ spki_pin: pin }, () => pin);
  },
});
