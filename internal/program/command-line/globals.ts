import type { ArgsDef } from "citty";
import { outputFormats } from "./print.ts";

/** Options that every command takes, before or after its name. */
export const globalArgs = {
  config: { type: "string", valueHint: "file", description: "Configuration file of the operator" },
  context: {
    type: "string",
    valueHint: "name",
    description: "Fleet to ask, of those that svc login installed",
  },
  "connect-timeout": {
    type: "string",
    valueHint: "duration",
    default: "10s",
    description: "How long the bus may take to accept the connection",
  },
  output: {
    type: "enum",
    options: [...outputFormats],
    default: "table",
    description: "Output format",
  },
  wide: { type: "boolean", description: "Show tables in full: every column, whole ids, and times" },
  "no-color": { type: "boolean", description: "Disable color, like NO_COLOR" },
  "no-pager": { type: "boolean", description: "Do not show long results with SVC_PAGER, PAGER or less" },
  help: { type: "boolean", alias: "h", description: "Show help" },
  version: { type: "boolean", description: "Show the version" },
} as const satisfies ArgsDef;

/** What is about a fleet that is contacted, and about long results: the daemons contact none but their own. */
const ofOperators: ReadonlySet<string> = new Set(["context", "connect-timeout", "no-pager"]);

/** The options that every command of a program takes. */
export function globalsOf(program: string): ArgsDef {
  if (program === "svc") return globalArgs;
  return Object.fromEntries(Object.entries(globalArgs).filter(([name]) => !ofOperators.has(name)));
}
