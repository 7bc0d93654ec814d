import { SvcError } from "../../base/errors.ts";
import { type FleetKey, fleetKeys, type ReplaceableKey, replaceableKeys } from "../../bus/accounts/mod.ts";
import { value, word } from "../../program/command-line/mod.ts";

/** Common options of the `svc keys` commands. */
export const dirArg = value("directory", "auth_dir of a master", { default: "/var/lib/svc/auth" });

export const keyArg = word("Key: command or account", { required: true });

export const rotatedArg = word("Key: command, account or settings", { required: true });

/** @throws SvcError `usage` */
export const readKeyName = (name: string): ReplaceableKey => readOne(name, replaceableKeys, "replaced");

/** @throws SvcError `usage` */
export const readFleetKey = (name: string): FleetKey => readOne(name, fleetKeys, "made");

function readOne<Name extends string>(name: string, names: readonly Name[], verb: string): Name {
  const found = names.find((key) => key === name);
  if (found !== undefined) return found;
  throw new SvcError(
    "usage",
    `${JSON.stringify(name.slice(0, 60))} is not a key that can be ${verb}: expected ${oneOf(names)}`,
  );
}

const oneOf = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
