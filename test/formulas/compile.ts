import type { Plain } from "../../internal/base/msgpack.ts";
import { localSettings } from "../../internal/fleet/settings/local.ts";
import { createDirectorySource } from "../../internal/tree/files/directory-source.ts";
import { StateErrors } from "../../internal/tree/function/problem.ts";
import { type StateRegistry, stateRegistry } from "../../internal/tree/functions/registry.ts";
import { type CompiledStates, compileStates } from "../../internal/tree/language/compile.ts";
import { createTemplates } from "../../internal/tree/template/render.ts";
import { functionsOfHost, hostFacts } from "./host.ts";

/** A state as Salt's list has it. */
export type Low = readonly [called: string, id: string, name: string];

/** What became of one formula. */
export interface Compiled {
  states: readonly Low[];
  /** What keeps it from compiling, the first problem first. */
  problems: readonly string[];
}

const peelId = "web-1_example_com";

export interface CompileFormula {
  compat: "strict" | "salt";
  /** Names of state functions that are taken to exist. */
  functions?: readonly string[];
  /** Whether commands of templates run. */
  commands: boolean;
}

/** Compiles the highstate of one tree for the host of the data. */
export async function compileFormula(directory: string, options: CompileFormula): Promise<Compiled> {
  try {
    const { states } = (await compileTree(directory, options)).compiled;
    return { states: states.map(({ function: called, id, name }) => [called, id, name]), problems: [] };
  } catch (thrown) {
    if (thrown instanceof StateErrors) {
      return {
        states: [],
        problems: thrown.problems.map(({ file = "", line, message }) => `${file}:${line ?? 0}: ${message}`),
      };
    }
    return { states: [], problems: [thrown instanceof Error ? thrown.message : String(thrown)] };
  }
}

/** The same, as it is run. @throws StateErrors, SettingsFault */
export async function compileTree(
  directory: string,
  { compat, functions, commands }: CompileFormula,
): Promise<{ compiled: CompiledStates; settings: Record<string, Plain> }> {
  const store = await localSettings({
    directory: `${directory}/settings_ci`,
    peelId,
    facts: () => hostFacts,
  });
  const settings = { ...store.current() };
  const compiled = await compileStates(
    {
      files: createDirectorySource(`${directory}/states`),
      templates: createTemplates(),
      ...{ facts: hostFacts, settings, peelId, compat, host: functionsOfHost({ commands }) },
      registry: functions === undefined ? stateRegistry : anyFunction(functions),
    },
    "highstate",
  );
  return { compiled, settings };
}

/** State functions that are missing are taken to exist, so that what templates make of the tree is seen. */
function anyFunction(names: readonly string[]): StateRegistry {
  const args = new Proxy({}, { get: () => undefined, ownKeys: () => [] });
  return {
    async functionsOf(module) {
      const own = await stateRegistry.functionsOf(module);
      const missing = names.filter(
        (name) => name.startsWith(`${module}.`) && !own.some((each) => each.name === name),
      );
      return [...own, ...missing.map((name) => ({ name, doc: "", args, plan: () => Promise.reject(name) }))];
    },
    all: () => stateRegistry.all(),
  };
}
