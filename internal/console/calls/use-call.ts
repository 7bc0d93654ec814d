import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Documented } from "./documented.ts";
import { type ReadArgs, readArgs } from "./read-args.ts";

/** A function and its arguments, as they are typed. */
export interface TypedCall extends ReadArgs {
  name: Signal<string>;
  /** What was typed for each argument. */
  typed: Signal<Readonly<Record<string, string>>>;
  /** The functions that there are; none before they are loaded. */
  functions: readonly Documented[];
  /** The function with the typed name. */
  known: Documented | undefined;
  /** Whether it was submitted since the function was typed: only then is what is missing shown. */
  tried: Signal<boolean>;
  /** Why it cannot be called yet, in a sentence; empty when it can, or when the fields of arguments say why. */
  lacking(): string;
  /** Whether it can be called as it is typed. */
  isReady(): boolean;
}

/** @param first name of the function that is filled in */
export function useCall(first = ""): TypedCall {
  const functions = useSignal<readonly Documented[]>([]);
  const name = useSignal(first);
  const typed = useSignal<Readonly<Record<string, string>>>({});
  const tried = useSignal(false);
  useEffect(() => {
    import("./catalog.ts").then(({ catalog }) => {
      functions.value = catalog;
    });
  }, []);
  const wanted = name.value.trim();
  const known = functions.value.find((one) => one.name === wanted);
  const read = readArgs(known ?? { args: [] }, typed.value);
  return {
    ...{ name, typed, known, tried, ...read },
    functions: functions.value,
    lacking() {
      if (known !== undefined) return "";
      return wanted === ""
        ? "Choose a function."
        : `The function ${wanted} does not exist: choose one from the list.`;
    },
    isReady: () => known !== undefined && Object.keys(read.problems).length === 0,
  };
}
