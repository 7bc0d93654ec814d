import { makeRecoveryKey } from "../../bus/accounts/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";

export const recoveryKeyCommand = command({
  name: "recovery-key",
  description: "Make the recovery key of a fleet that was created without one.",
  examples: ["svc fleet recovery-key --dir /var/lib/svc/auth"],
  args: {
    dir: {
      type: "string",
      valueHint: "directory",
      required: true,
      description: "The auth directory of a master",
    },
  },
  async run({ dir }, cli) {
    const { publicKey, seed, pub } = makeRecoveryKey(dir, cli.random);
    await cli.print({ public_key: publicKey, seed, public_key_file: pub }, () =>
      formatFields([
        ["Recovery key", publicKey],
        ["Seed", seed],
        ["For masters", pub],
      ]),
    );
    cli.say("");
    cli.say(`Take ${seed} to a safe place: anyone who has it can move the peels to another fleet.`);
    cli.say(`Copy ${pub} to auth_dir of every other master, and restart the masters. Peels then learn it.`);
  },
});
