import { allFunctions } from "../../host/modules/mod.ts";

/** What a form needs of a function. */
export interface Documented {
  name: string;
  doc: string;
  readOnly: boolean;
  args: DocumentedArg[];
}

export interface DocumentedArg {
  name: string;
  type: string;
  required: boolean;
  doc: string;
  values: string[];
  /** Text of many lines. */
  long: boolean;
}

/** The functions of peels with their arguments, as `sys.list_functions` tells them. Only plain values. */
export function documentedFunctions(): Documented[] {
  return allFunctions
    .map(({ name, doc, readOnly = false, args }) => ({
      name,
      doc,
      readOnly,
      args: Object.entries(args).map(([arg, { type, required = false, doc, values = [], data }]) => ({
        name: arg,
        ...{ type, required, doc, values: [...values] },
        long: data === "text" || data === "input",
      })),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
