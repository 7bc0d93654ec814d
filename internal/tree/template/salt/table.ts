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

/** Functions of `salt[…]` that choose nothing by facts. */
const plainFunctions =
  /^(?:(?:facts|grains|settings|pillar)\.get|(?:slsutil|defaults|log|test|file)\.[a-z_]+|mine\.get)$/;

/** Whether a function of `salt[…]` may choose a value by facts: all do that are not known as plain ones. */
export const choosesByFacts = (name: string): boolean => !plainFunctions.test(name);
