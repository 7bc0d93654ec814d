import { choosingFunctions } from "./choose.ts";
import { dataFunctions } from "./data.ts";
import type { SaltFunction } from "./function.ts";
import { lookupFunctions } from "./lookups.ts";
import { mergeFunctions } from "./merge.ts";
import { networkFunctions } from "./networks.ts";
import { pathFunctions } from "./paths.ts";
import { smallFunctions } from "./small.ts";
import { versionFunctions } from "./versions.ts";

type Functions = ReadonlyMap<string, SaltFunction>;
const byName = (functions: readonly SaltFunction[]): Functions =>
  new Map(functions.map((each) => [each.name, each]));
const ofValues = [
  ...lookupFunctions,
  ...choosingFunctions,
  ...mergeFunctions,
  ...pathFunctions,
  ...smallFunctions,
  ...versionFunctions,
  ...networkFunctions,
];

/** The functions of `salt[…]` that templates of settings have: none reads a file or a text. */
export const settingsFunctions: Functions = byName(ofValues);

/** The functions of `salt[…]` that need nothing of the host, by name. */
export const pureFunctions: Functions = byName([...ofValues, ...dataFunctions]);
