import type { StateFunction } from "./function.ts";

type Load = () => Promise<readonly StateFunction[]>;

/**
 * The state functions of each module. A module is loaded when a state names it: a run that only manages
 * files does not wait for the rest.
 */
const modules: Readonly<Record<string, Load>> = {
  file: async () => (await import("./functions/file/index.ts")).fileStates,
  git: async () => (await import("./functions/git.ts")).gitStates,
  test: async () => (await import("./functions/test.ts")).testStates,
};

/** Where the compiler finds state functions. */
export interface StateRegistry {
  /** @returns nothing when there is no such module */
  functionsOf(module: string): Promise<readonly StateFunction[]>;
  /** Every function, for messages and lists. */
  all(): Promise<readonly StateFunction[]>;
}

export const stateRegistry: StateRegistry = {
  functionsOf: async (module) =>
    (Object.hasOwn(modules, module) ? await modules[module]?.() : undefined) ?? [],
  async all() {
    return (await Promise.all(Object.values(modules).map((load) => load()))).flat();
  },
};
