import { suggestion } from "../../base/nearest.ts";
import { atLine } from "../../base/place.ts";
import type { Problems } from "../function/mod.ts";
import { isCommon } from "./common-args.ts";
import type { Declaration, DeclaredArg, DeclaredFile } from "./declare.ts";

/**
 * Merges the declarations of all files by id, and applies `extend` and then `exclude`. An id must be unique.
 */
export function mergeFiles(files: readonly DeclaredFile[], problems: Problems): Map<string, Declaration> {
  const byId = new Map<string, Declaration>();
  for (const declaration of files.flatMap(({ declarations }) => declarations)) {
    const other = byId.get(declaration.id);
    if (other === undefined) byId.set(declaration.id, declaration);
    else {
      const { file, line } = declaration;
      problems.add(`the id ${declaration.id} is declared twice: also in ${atLine(other.file, other.line)}`, {
        file,
        line,
      });
    }
  }
  for (const extension of files.flatMap((each) => each.extends)) extend(byId, extension, problems);
  for (const { kind, name } of files.flatMap(({ excludes }) => excludes)) {
    for (const [id, declaration] of byId) {
      if (name === (kind === "id" ? id : declaration.sls)) byId.delete(id);
    }
  }
  return byId;
}

function extend(byId: ReadonlyMap<string, Declaration>, extension: Declaration, problems: Problems): void {
  const { id, file, line } = extension;
  const declaration = byId.get(id);
  if (declaration === undefined) {
    const near = suggestion(id, [...byId.keys()]);
    problems.add(`extend: no state has the id ${id}${near}; include the file that declares it`, {
      file,
      line,
    });
    return;
  }
  for (const added of extension.functions) {
    const place = { file: added.file, line: added.line };
    const present = declaration.functions.find(({ module }) => module === added.module);
    if (present === undefined) {
      const modules = declaration.functions.map(({ module }) => module);
      problems.add(
        `extend: ${id} has no state of ${added.module}${suggestion(added.module, modules)}`,
        place,
      );
      continue;
    }
    if (added.function !== "") present.function = added.function;
    present.args = mergeArgs(present.args, added.args);
  }
}

/** Requisites and conditions are appended; every other argument replaces the existing one. */
function mergeArgs(present: readonly DeclaredArg[], added: readonly DeclaredArg[]): DeclaredArg[] {
  const replaced = new Set(added.map(({ name }) => name).filter((name) => !isAdded(name)));
  return [...present.filter(({ name }) => !replaced.has(name)), ...added];
}

const single = new Set(["name", "names", "order", "failhard", "parallel", "aggregate", "retry"]);

function isAdded(name: string): boolean {
  return isCommon(name) && !single.has(name);
}
