import { compileExpression } from "./compile-expression.ts";
import type { Compiled, Evaluate, Frame, Used } from "./frame.ts";
import type { Loading } from "./syntax/mod.ts";
import { defined, Fault, iterate, typeName, type Value } from "./values/mod.ts";

/** What is loaded, and whether it sees the variables around. */
export interface CompiledLoading {
  template: Evaluate;
  withContext: boolean;
}

export function compileLoading({ template, withContext }: Loading, used: Used): CompiledLoading {
  return { template: compileExpression(template, used), withContext };
}

/** The template of this name, or the first in a list of names that exists. @throws Fault */
export function loadTemplate(frame: Frame, name: Value, verb: "extend" | "include" | "import"): Compiled {
  const names = typeof name === "string" ? [name] : iterate(defined(name));
  const tried: string[] = [];
  for (const each of names) {
    if (typeof each !== "string") throw new Fault(`the name of a template is a text, not ${typeName(each)}`);
    const found = frame.run.surroundings.load(resolved(frame, each));
    if (found !== undefined) return found;
    tried.push(resolved(frame, each));
  }
  const shown = tried.map((each) => JSON.stringify(each)).join(", ");
  throw new Fault(`template not found: tried to ${verb} non-existing template ${shown}`, { missing: tried });
}

const resolved = ({ rendering }: Frame, name: string) => nameFrom(rendering?.template.name ?? "", name);

/** The template that a name means: `./x` and `../x` begin at the folder of the template that names them. */
export function nameFrom(template: string, name: string): string {
  if (!name.startsWith("./") && !name.startsWith("../")) return name;
  const path = template.split("/").slice(0, -1);
  for (const part of name.split("/")) {
    if (part === "..") path.pop();
    else if (part !== "." && part !== "") path.push(part);
  }
  return path.join("/");
}
