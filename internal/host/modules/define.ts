import type { Plain } from "../../base/msgpack.ts";
import type { ArgSpec, ArgType, CallArgs, CallContext, FilesOfCall, ModuleFunction } from "./function.ts";

/** The TypeScript type of a validated value. */
interface Values {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  duration: string;
  path: string;
  mode: string;
  strings: string[];
  map: { [key: string]: Plain };
  any: Plain;
}

const argOf =
  <const Type extends ArgType>(type: Type) =>
  <const Rest extends Omit<ArgSpec, "type" | "doc"> = Record<never, never>>(doc: string, rest?: Rest) =>
    ({ type, doc, ...rest }) as { type: Type; doc: string } & Rest;

/** Arguments of functions and states, by type. */
export const arg = {
  string: argOf("string"),
  integer: argOf("integer"),
  number: argOf("number"),
  boolean: argOf("boolean"),
  duration: argOf("duration"),
  path: argOf("path"),
  mode: argOf("mode"),
  strings: argOf("strings"),
  map: argOf("map"),
  any: argOf("any"),
} as const;

/** The validated values of a table of arguments, by name. */
export type ValuesOf<Specs extends Readonly<Record<string, ArgSpec>>> = {
  readonly [Name in keyof Specs]:
    | Values[Specs[Name]["type"] & ArgType]
    | (Specs[Name] extends { required: true } ? never : undefined);
};

interface Definition<Specs extends Readonly<Record<string, ArgSpec>>>
  extends Omit<ModuleFunction, "args" | "files" | "refuse" | "run"> {
  args: Specs;
  files?(args: ValuesOf<Specs>): FilesOfCall;
  refuse?(args: ValuesOf<Specs>): string | undefined;
  run(args: ValuesOf<Specs>, context: CallContext): Promise<Plain> | Plain;
}

/** Declares a function whose argument types are derived from its argument table. */
export function define<const Specs extends Readonly<Record<string, ArgSpec>>>(
  definition: Definition<Specs>,
): ModuleFunction {
  // Sound because the arguments of a call are checked against this table before the function runs.
  const typed = (args: CallArgs) => args as ValuesOf<Specs>;
  const { files, refuse, run, ...rest } = definition;
  return {
    ...rest,
    ...(files === undefined ? {} : { files: (args) => files(typed(args)) }),
    ...(refuse === undefined ? {} : { refuse: (args) => refuse(typed(args)) }),
    run: (args, context) => run(typed(args), context),
  };
}
