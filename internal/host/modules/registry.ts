import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { checkArguments, checkGiven } from "./arguments.ts";
import { auditFunctions } from "./audit.ts";
import { cmdFunctions } from "./cmd.ts";
import { dnsutilFunctions } from "./dnsutil.ts";
import { eventFunctions } from "./event.ts";
import { factsFunctions } from "./facts.ts";
import { fileFunctions } from "./file.ts";
import type { CallArgs, FilesOfCall, ModuleFunction } from "./function.ts";
import { identityFunctions } from "./identity.ts";
import { pkgFunctions } from "./pkg.ts";
import { serviceFunctions } from "./service.ts";
import { settingsFunctions } from "./settings.ts";
import { filesProblem, stateFunctions } from "./state.ts";
import { statusFunctions } from "./status.ts";
import { suggestFunction } from "./suggest-function.ts";
import { sysFunctions } from "./sys.ts";
import { systemFunctions } from "./system.ts";
import { testFunctions } from "./test.ts";
import { upgradeFunctions } from "./upgrade.ts";
import { groupFunctions, userFunctions } from "./user.ts";

/** All functions. */
export const allFunctions: readonly ModuleFunction[] = [
  ...auditFunctions,
  ...cmdFunctions,
  ...dnsutilFunctions,
  ...eventFunctions,
  ...factsFunctions,
  ...fileFunctions,
  ...groupFunctions,
  ...identityFunctions,
  ...pkgFunctions,
  ...serviceFunctions,
  ...stateFunctions,
  ...settingsFunctions,
  ...statusFunctions,
  ...sysFunctions(() => allFunctions),
  ...systemFunctions,
  ...testFunctions,
  ...upgradeFunctions,
  ...userFunctions,
];
const byName = new Map<string, ModuleFunction>(
  allFunctions.flatMap((entry) =>
    [entry.name, ...(entry.aliases ?? [])].map((name) => [name, entry] as const),
  ),
);

/** Every name that a function answers to. */
export const functionNames: readonly string[] = [...byName.keys()];

/**
 * Finds a function by its name or an alias.
 *
 * @throws SvcError `bad_request` with the nearest valid name
 */
export function functionNamed(name: string): ModuleFunction {
  const found = byName.get(name);
  if (found !== undefined) return found;
  throw new SvcError("bad_request", `unknown function ${quote(name)}${suggestFunction(name, functionNames)}`);
}

/**
 * Looks a function up and checks its arguments.
 *
 * @throws SvcError `bad_request` naming the function or the argument, with the nearest valid name
 */
export function checkCall(name: string, args: Readonly<Record<string, unknown>>): ModuleFunction {
  const found = functionNamed(name);
  checkArguments(found, args);
  return found;
}

/**
 * Which files of the tree a call means; `undefined` for a function that uses none, or does not exist.
 *
 * @throws SvcError `bad_request` naming the argument
 */
export function filesOfCall(name: string, args: Readonly<Record<string, unknown>>): FilesOfCall | undefined {
  const found = byName.get(name);
  if (found?.files === undefined) return undefined;
  // Other arguments may be absent: a question about a call names only what matters for it.
  checkGiven(found, args);
  const given = args as CallArgs;
  const problem = filesProblem(given);
  if (problem !== undefined) throw new SvcError("bad_request", `${found.name}: ${problem}`);
  return found.files(given);
}
