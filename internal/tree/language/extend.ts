import { suggestion } from "../../base/nearest.ts";
import { atLine } from "../../base/place.ts";
import type { Problems } from "../function/mod.ts";
import { isRequisite } from "./common-args.ts";
import type { Declaration, DeclaredArg, DeclaredFile, DeclaredFunction } from "./declare.ts";

type ById = ReadonlyMap<string, Declaration>;

/**
 * Merges the declarations of all files by id, and applies `extend` and then `exclude`. An id must be unique. What an
 * excluded file extends stays as it is.
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
  const excluded = files.flatMap(({ excludes }) => excludes);
  const isExcluded = (sls: string) => excluded.some(({ kind, name }) => kind === "sls" && name === sls);
  for (const extension of files.flatMap((each) => each.extends)) {
    if (!isExcluded(extension.sls)) extend(byId, extension, problems);
  }
  for (const { kind, name } of excluded) {
    for (const [id, declaration] of byId) {
      if (name === (kind === "id" ? id : declaration.sls)) byId.delete(id);
    }
  }
  return byId;
}

function extend(byId: ById, extension: Declaration, problems: Problems): void {
  const { id, file, line } = extension;
  const declaration = byId.get(id) ?? withName(byId, extension);
  if (declaration === undefined) {
    const near = suggestion(id, [...byId.keys()]);
    problems.add(`extend: no state has the id ${id}${near}; include the file that declares it`, {
      file,
      line,
    });
    return;
  }
  for (const added of extension.functions) {
    const present = declaration.functions.find(({ module }) => module === added.module);
    if (present !== undefined) {
      if (added.function !== "") present.function = added.function;
      present.args = mergeArgs(present.args, added.args);
    } else if (added.function !== "") declaration.functions.push({ ...added, isLate: true });
    else refuseWithoutFunction(declaration, added, problems);
  }
}

/** The one declaration with a state of this module that has this name; as in Salt, an id goes before it. */
function withName(byId: ById, { id, functions: [first] }: Declaration): Declaration | undefined {
  const isNamed = ({ module, args }: DeclaredFunction) =>
    module === first?.module &&
    args.some(({ name, node }) => name === "name" && node.kind === "scalar" && node.value === id);
  const [found, another] = [...byId.values()].filter(({ functions }) => functions.some(isNamed));
  return another === undefined ? found : undefined;
}

function refuseWithoutFunction({ id, functions }: Declaration, added: DeclaredFunction, problems: Problems) {
  const { module, file, line } = added;
  const near = suggestion(
    module,
    functions.map((each) => each.module),
  );
  problems.add(`extend: ${id} has no state of ${module}${near}; to add one, name its function`, {
    file,
    line,
  });
}

/** Requisites are appended; every other argument replaces the existing one, and a name all names. */
function mergeArgs(present: readonly DeclaredArg[], added: readonly DeclaredArg[]): DeclaredArg[] {
  const replaced = new Set(added.map(({ name }) => name).filter((name) => !isRequisite(name)));
  if (replaced.has("name")) replaced.add("names");
  return [...present.filter(({ name }) => !replaced.has(name)), ...added];
}
