import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";

/** States of the environment of commands. */
export const environStates: readonly StateFunction[] = [
  defineState({
    name: "environ.setenv",
    doc: "Sets variables for the commands of later states of this run, and for their unless and onlyif. It changes nothing on the host, and the variables end with the run.",
    args: {
      value: arg.any("The value of the variable, or a map of variables with their values."),
      false_unsets: arg.boolean(
        "The value false removes a variable instead of setting it to the empty text.",
      ),
      clear_all: arg.boolean("Removes the variables that earlier states of the run set."),
      update_minion: arg.boolean("Accepted and not used: a peel keeps no variables between runs."),
      permanent: arg.boolean("Accepted and not used."),
    },
    refuse: ({ value }) =>
      value !== undefined && variablesOf("", value) === undefined
        ? "value: expected text, or a map of texts"
        : undefined,
    plan(name, { value = "", clear_all, false_unsets }, { environment }) {
      const wanted = variablesOf(name, value) ?? {};
      for (const each of Object.keys(wanted)) {
        if (!/^[A-Za-z_]\w*$/.test(each)) {
          throw new StateFailure(`${quote(each)} is not a valid name of a variable`);
        }
      }
      if (clear_all === true) environment.clear();
      for (const [each, text] of Object.entries(wanted)) {
        if (text === false && false_unsets === true) environment.delete(each);
        else environment.set(each, text === false ? "" : String(text));
      }
      return { changes: {}, comment: `later commands of this run see ${Object.keys(wanted).join(", ")}` };
    },
  }),
];

function variablesOf(name: string, value: Plain): { [name: string]: Plain } | undefined {
  const all = isMap(value) ? value : { [name]: value };
  return Object.values(all).every((each) => typeof each !== "object" && !String(each).includes("\0"))
    ? all
    : undefined;
}
