import { type Budget, take } from "../../jinja/mod.ts";
import { type Args, Fault, type Value, type ValueMap } from "../../jinja/values/mod.ts";
import type { Watch } from "../scope.ts";

/** What a function of `salt[…]` may use. */
export interface SaltTools {
  readonly facts: () => ValueMap;
  readonly settings: () => ValueMap;
  /** What targets see of them: with the values of secrets, each answer would tell a part of one. */
  readonly shownSettings: () => ValueMap;
  readonly opts: () => ValueMap;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether the peel is a target, where it is noticed what templates read. */
  readonly matches?: Watch["meets"];
  readonly budget: Budget;
  /** Lists and maps stay as they were made. */
  readonly isFixed: boolean;
  /** The text of data as a value. @throws Fault */
  parse(format: "yaml" | "json" | "text", text: string): Value;
  /** The text of a file of the tree; `undefined` when there is none. @throws Fault while it is not read yet */
  readFile(path: string): string | undefined;
  /** The paths of the tree. */
  paths(): readonly string[];
  /** The text that a template makes. @throws Fault */
  render(template: { path: string } | { text: string }, variables: ReadonlyMap<string, Value>): string;
}

/** A function of `salt[…]` that needs nothing of the host. */
export interface SaltFunction {
  /** `grains.get` */
  readonly name: string;
  /** In their order; those with a `?` may be left out. */
  readonly parameters: readonly string[];
  readonly doc: string;
  call(args: Args, tools: SaltTools): Value;
}

/** Declares a function with named parameters; `values` has one value for each of them. */
export function saltFunction(
  name: string,
  parameters: readonly string[],
  doc: string,
  call: (values: readonly (Value | undefined)[], tools: SaltTools) => Value,
): SaltFunction {
  return { name, parameters, doc, call: (args, tools) => call(take(name, args, parameters), tools) };
}

/** Declares a function that takes any arguments. */
export function looseFunction(
  name: string,
  parameters: readonly string[],
  doc: string,
  call: (args: Args, tools: SaltTools) => Value,
): SaltFunction {
  return { name, parameters, doc, call };
}

/** @throws Fault where templates change nothing */
export function refuseFixed(name: string, { isFixed }: SaltTools): void {
  if (isFixed) throw new Fault(`${name}: lists and maps cannot be changed here`);
}
