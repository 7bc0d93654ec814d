import { atLine } from "../../base/place.ts";
import { type StateContext, StateFailure } from "../function/mod.ts";
import type { CompiledStates } from "../language/mod.ts";
import { TemplateError } from "../template/mod.ts";

/** What a run hands on to its state functions. */
type ContextOptions = Pick<StateContext, "clock" | "facts" | "settings" | "signal" | "call">;

/** The environment of the state functions of one run. */
export function contextOf(
  { states, files, renderer, scope }: CompiledStates,
  options: ContextOptions,
): StateContext {
  const { clock, facts, settings, signal, call } = options;
  return {
    clock,
    facts,
    settings,
    signal,
    described: states,
    compat: scope.compat ?? "strict",
    files,
    call,
    environment: new Map(),
    cache: new Map(),
    async render(template, variables) {
      try {
        return await renderer.render(template, scope, variables);
      } catch (thrown) {
        if (thrown instanceof TemplateError) throw new StateFailure(messageOf(thrown), {}, { cause: thrown });
        throw thrown;
      }
    },
  };
}

/** The place of a template's error to the column, as in state files. */
function messageOf({ file, line, column, reason, message }: TemplateError): string {
  return column === 0 ? message : `${atLine(file, line)}:${column}: ${reason}`;
}
