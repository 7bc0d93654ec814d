import type { ModuleFunction } from "./function.ts";

export const testFunctions: readonly ModuleFunction[] = [
  {
    name: "test.ping",
    doc: "Answers true: the peel is there and runs jobs.",
    args: {},
    readOnly: true,
    run: () => true,
  },
];
