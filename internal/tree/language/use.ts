import { suggestion } from "../../base/nearest.ts";
import type { YamlNode } from "../../base/yaml/yaml.ts";
import { type Place, type Problems, placeOf } from "../function/mod.ts";
import { isCommon } from "./common-args.ts";
import type { Declaration, DeclaredArg, DeclaredFunction } from "./declare.ts";

/**
 * Applies `use` and `use_in`: a state takes the arguments of its function that it does not have itself from
 * another state. Requisites and other common arguments are not taken.
 */
export function applyUses(declarations: readonly Declaration[], problems: Problems): void {
  const all = declarations.flatMap(({ id, functions }) => functions.map((declared) => ({ id, declared })));
  // Everything is looked up first, so that what one state takes is not handed on to a third by chance.
  const taken = all.flatMap(({ declared }) =>
    declared.args
      .filter(({ name }) => name === "use" || name === "use_in")
      .flatMap((arg) =>
        referencesOf(arg, problems).flatMap((reference) => {
          const found = all.filter(({ id, declared: other }) => matches(reference, id, other));
          if (found.length === 0) {
            const ids = declarations.map(({ id }) => id);
            problems.add(
              `${arg.name}: no state matches ${labelOf(reference)}${suggestion(reference.id, ids)}`,
              reference,
            );
          }
          return found.map(({ declared: other }) => {
            const [from, to] = arg.name === "use" ? [other, declared] : [declared, other];
            return { to, args: from.args.filter(({ name }) => !isCommon(name)) };
          });
        }),
      ),
  );
  for (const { to, args } of taken) {
    const own = new Set(to.args.map(({ name }) => name));
    to.args = [...to.args, ...args.filter(({ name }) => !own.has(name))];
  }
}

interface Reference extends Place {
  /** Empty for a bare id. */
  module: string;
  id: string;
}

function matches({ module, id }: Reference, otherId: string, other: DeclaredFunction): boolean {
  if (module !== "" && module !== "id" && module !== other.module) return false;
  return id === otherId || other.args.some(({ name, node }) => name === "name" && textOf(node) === id);
}

export function referencesOf(arg: DeclaredArg, problems: Problems): Reference[] {
  const items = arg.node.kind === "list" ? arg.node.items : [arg.node];
  return items.flatMap((item): Reference[] => {
    const place = { file: arg.file, line: item.at.line };
    const bare = textOf(item);
    if (bare !== undefined) return [{ module: "", id: bare, ...place }];
    const read = (item.kind === "map" ? item.entries : []).flatMap(({ key, value }) => {
      const id = textOf(value);
      return id === undefined ? [] : [{ module: key, id, ...place }];
    });
    if (read.length === 0) {
      problems.add(`${arg.name}: expected items of the form "- module: id or name"`, placeOf(arg));
    }
    return read;
  });
}

function labelOf({ module, id }: Reference): string {
  return module === "" ? id : `${module}: ${id}`;
}

function textOf(node: YamlNode): string | undefined {
  if (node.kind !== "scalar") return undefined;
  return typeof node.value === "string" ? node.value : node.digits;
}
