import { existsSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { addNextKey, keyFile, readCommandKeys, readKeySlot } from "../../bus/accounts/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { dirArg, readFleetKey, rotatedArg } from "./args.ts";

export const rotateCommand = command({
  name: "rotate",
  description: "Create the next command key, signing key of the peels' account, or key of settings.",
  examples: ["svc keys rotate command", "svc keys rotate settings"],
  args: { key: rotatedArg, dir: dirArg },
  async run({ key: name, dir }, cli) {
    const key = readFleetKey(name);
    assertAuthDirectory(dir);
    const { publicKey } = addNextKey(dir, key, cli.random);
    const isNext = readKeySlot(dir, key).next !== undefined;
    const file = keyFile(dir, key, isNext ? "next" : "current");
    await cli.print({ key, public_key: publicKey, file }, () =>
      formatFields([
        [isNext ? "Next key" : "Key", publicKey],
        ["File", file],
      ]),
    );
    cli.say(`Next: copy ${file} to auth_dir of every other master. They use it without a restart.`);
    cli.say(
      key === "settings"
        ? "svc keys status shows which masters have it."
        : `svc keys status shows who has confirmed it; then run svc keys finish ${key} on every master.`,
    );
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
