import { suggestion } from "../../base/nearest.ts";
import type { Items } from "./report.ts";
import { saltStateModules } from "./state-modules.ts";

/** The functions that exist here. */
export interface Functions {
  /** What states call: `file.managed`. */
  states: readonly string[];
  /** What peels run, and `module.run` calls: `pkg.refresh_db`. */
  peel: readonly string[];
}

const key = /^\s+(\w+)\.(\w+)(?::\s*(?:\[\]\s*|#.*)?|\s*)$/;
/** A state that calls functions of the peel. */
const calling = /^\s+(?:module\.(?:run|wait)|module):\s*(?:#.*)?$/;
/** What it calls: `- pkg.refresh_db:`, or `- name: pkg.refresh_db`. */
const argument = /^\s*-\s+(?:name:\s*["']?(\w+\.\w+)["']?\s*(?:#.*)?$|(\w+\.\w+):)/;
const names = /^\s*-\s+names:\s*(?:#.*)?$/;
/** An item of `names`. */
const item = /^\s*-\s+["']?(\w+\.\w+)["']?\s*(?:#.*)?$/;

/** Finds functions in a state file that do not exist here, without rendering it. */
export function scanFunctions(path: string, text: string, functions: Functions, items: Items): void {
  const [states, peel] = [new Set(functions.states), new Set(functions.peel)];
  const calls = createCalls();
  for (const [at, line] of text.split("\n").entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const place = { file: path, line: at + 1 };
    const { isInside, called } = calls.read(line);
    if (called !== undefined && !peel.has(called))
      addMissing(items, "function", called, functions.peel, place);
    const [, module = "", word] = key.exec(line) ?? [];
    const declared = `${module}.${word}`;
    if (!isInside && saltStateModules.has(module) && !states.has(declared))
      addMissing(items, "state function", declared, functions.states, place);
  }
}

/** Follows the lines of states that call functions of the peel. */
function createCalls(): { read(line: string): { isInside: boolean; called?: string | undefined } } {
  /** The column of such a state while its lines last, that of its arguments, and whether `names` is the last one. */
  let state: { column: number; arguments?: number; isNames: boolean } | undefined;
  return {
    read(line) {
      const column = line.search(/\S/);
      const isItem = /^\s*-\s/.test(line);
      if (state !== undefined && (column < state.column || (column === state.column && !isItem))) {
        state = undefined;
      }
      if (calling.test(line)) {
        state = { column, isNames: false };
        return { isInside: true };
      }
      if (state === undefined) return { isInside: false };
      state.arguments ??= column;
      if (column > state.arguments || (column === state.arguments && state.isNames && item.test(line))) {
        return { isInside: true, called: state.isNames ? item.exec(line)?.[1] : undefined };
      }
      state.isNames = names.test(line);
      const [, named, called = named] = argument.exec(line) ?? [];
      return { isInside: true, called };
    },
  };
}

function addMissing(
  items: Items,
  kind: "function" | "state function",
  called: string,
  names: readonly string[],
  place: { file: string; line: number },
): void {
  items.add(
    "states",
    place,
    `the ${kind} ${called} does not exist here${suggestion(called, names)}`,
    kind === "function"
      ? "Use another function of docs/modules.md, or a state of docs/state-functions.md such as cmd.run"
      : "Use another function of docs/state-functions.md, or cmd.run",
  );
}
