import type { ArgsDef } from "citty";
import { outputFormats } from "./print.ts";

/** Options that every command takes, before or after its name. */
export const globalArgs = {
  config: { type: "string", valueHint: "file", description: "Configuration file of the operator" },
  output: {
    type: "enum",
    options: [...outputFormats],
    default: "table",
    description: "Form of the result",
  },
  "no-color": { type: "boolean", description: "Write without color, as NO_COLOR does" },
  help: { type: "boolean", alias: "h", description: "Show how a command is used" },
  version: { type: "boolean", description: "Show the version" },
} as const satisfies ArgsDef;
