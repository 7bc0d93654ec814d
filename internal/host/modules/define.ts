import type { Plain } from "../../base/msgpack.ts";
import type { ArgSpec, ArgType, CallArgs, CallContext, ModuleFunction } from "./function.ts";

/** What a checked value of a type is. */
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

/** The values that a table of arguments lets through, by name. */
export type ValuesOf<Specs extends Readonly<Record<string, ArgSpec>>> = {
  readonly [Name in keyof Specs]:
    | Values[Specs[Name]["type"] & ArgType]
    | (Specs[Name] extends { required: true } ? never : undefined);
};

interface Definition<Specs extends Readonly<Record<string, ArgSpec>>>
  extends Omit<ModuleFunction, "args" | "refuse" | "run"> {
  args: Specs;
  refuse?(args: ValuesOf<Specs>): string | undefined;
  run(args: ValuesOf<Specs>, context: CallContext): Promise<Plain> | Plain;
}

/** Declares a function whose code sees the types that its own table of arguments says. */
export function define<const Specs extends Readonly<Record<string, ArgSpec>>>(
  definition: Definition<Specs>,
): ModuleFunction {
  // Sound because a call's arguments are checked against this very table before anything of it runs.
  const typed = (args: CallArgs) => args as ValuesOf<Specs>;
  const { refuse, run, ...rest } = definition;
  return {
    ...rest,
    ...(refuse === undefined ? {} : { refuse: (args) => refuse(typed(args)) }),
    run: (args, context) => run(typed(args), context),
  };
}
