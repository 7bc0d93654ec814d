import type { ArgSpec, CallArgs, ValuesOf } from "../../host/modules/mod.ts";
import type { Plan, StateContext, StateFunction } from "./function.ts";

interface Definition<Specs extends Readonly<Record<string, ArgSpec>>>
  extends Omit<StateFunction, "args" | "refuse" | "warn" | "plan" | "onWatch"> {
  args: Specs;
  refuse?(args: ValuesOf<Specs>): string | undefined;
  warn?(args: ValuesOf<Specs>): string | undefined;
  plan(name: string, args: ValuesOf<Specs>, context: StateContext): Promise<Plan> | Plan;
  onWatch?(name: string, args: ValuesOf<Specs>, context: StateContext): Promise<Plan> | Plan;
}

/** Declares a state function whose argument types are derived from its argument table. */
export function defineState<const Specs extends Readonly<Record<string, ArgSpec>>>(
  definition: Definition<Specs>,
): StateFunction {
  // Sound because arguments are checked against this table before the state is planned.
  const typed = (args: CallArgs) => args as ValuesOf<Specs>;
  const { refuse, warn, plan, onWatch, ...rest } = definition;
  return {
    ...rest,
    ...(refuse === undefined ? {} : { refuse: (args) => refuse(typed(args)) }),
    ...(warn === undefined ? {} : { warn: (args) => warn(typed(args)) }),
    plan: (name, args, context) => plan(name, typed(args), context),
    ...(onWatch === undefined
      ? {}
      : { onWatch: (name, args, context) => onWatch(name, typed(args), context) }),
  };
}
