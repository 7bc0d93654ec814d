import { SvcError } from "../../base/errors.ts";
import { type ReplaceableKey, replaceableKeys } from "../../bus/accounts/mod.ts";
import { value, word } from "../../program/command-line/mod.ts";

/** Common options of the `svc keys` commands. */
export const dirArg = value("directory", "auth_dir of a master", { default: "/var/lib/svc/auth" });

export const keyArg = word("Key: command or account", { required: true });

/** @throws SvcError `usage` */
export function readKeyName(name: string): ReplaceableKey {
  const found = replaceableKeys.find((key) => key === name);
  if (found !== undefined) return found;
  throw new SvcError(
    "usage",
    `${JSON.stringify(name.slice(0, 60))} is not a key that can be replaced: expected command or account`,
  );
}
