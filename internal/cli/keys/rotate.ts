import { existsSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { addNextKey, keyFile, readCommandKeys } from "../../bus/accounts/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { dirArg, keyArg, readKeyName } from "./args.ts";

export const rotateCommand = command({
  name: "rotate",
  description: "Create the next command key, or the next signing key of the peels' account.",
  examples: ["svc keys rotate command"],
  args: { key: keyArg, dir: dirArg },
  async run({ key: name, dir }, cli) {
    const key = readKeyName(name);
    assertAuthDirectory(dir);
    const { publicKey } = addNextKey(dir, key, cli.random);
    const file = keyFile(dir, key, "next");
    await cli.print({ key, public_key: publicKey, file }, () =>
      formatFields([
        ["Next key", publicKey],
        ["File", file],
      ]),
    );
    cli.say(`Next: copy ${file} to auth_dir of every other master. They use it without a restart.`);
    cli.say(`svc keys status shows who has confirmed it; then run svc keys finish ${key} on every master.`);
  },
});

/**
 * Fails where the keys of a fleet are not, before anything is written there.
 *
 * @throws SvcError `bad_request`
 */
export function assertAuthDirectory(dir: string): void {
  if (!existsSync(join(dir, "operator-signing.seed"))) {
    throw new SvcError(
      "bad_request",
      `${dir} has no operator-signing.seed: set --dir to the auth_dir of a master; where another system issues the ` +
        "keys of the bus, its administrator replaces them",
    );
  }
  readCommandKeys(dir);
}
