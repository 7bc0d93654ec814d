import { SvcError } from "../../base/errors.ts";
import { type ReplaceableKey, replaceableKeys } from "../../bus/accounts/mod.ts";

/** Common options of the `svc keys` commands. */
export const dirArg = {
  type: "string",
  valueHint: "directory",
  default: "/var/lib/svc/auth",
  description: "auth_dir of a master",
} as const;

export const keyArg = {
  type: "positional",
  required: true,
  description: "Key: command or account",
} as const;

/** @throws SvcError `usage` */
export function readKeyName(name: string): ReplaceableKey {
  const found = replaceableKeys.find((key) => key === name);
  if (found !== undefined) return found;
  throw new SvcError(
    "usage",
    `${JSON.stringify(name.slice(0, 60))} is not a key that can be replaced: expected command or account`,
  );
}
