import { accountFunctions } from "./accounts.ts";
import { commandFunctions } from "./commands.ts";
import { fileFunctions } from "./files.ts";
import type { HostFunction } from "./function.ts";
import { networkFunctions } from "./network.ts";
import { softwareFunctions } from "./software.ts";
import { surroundingFunctions } from "./surroundings.ts";

/** Every function of `salt[…]` that looks at the host, by name. */
export const hostFunctions: ReadonlyMap<string, HostFunction> = new Map(
  [
    ...fileFunctions,
    ...accountFunctions,
    ...softwareFunctions,
    ...networkFunctions,
    ...surroundingFunctions,
    ...commandFunctions,
  ].map((each) => [each.name, each]),
);

export const hostFunctionNames: readonly string[] = [...hostFunctions.keys()];
