import type { ArgDef, ArgsDef, CommandDef } from "citty";
import { defined } from "../../base/defined.ts";
import { childrenOf, globalsOf, type IdKind, isRest, metaOf } from "../../program/command-line/mod.ts";

/** A word that may come next, with its description. */
interface Choice {
  word: string;
  text: string;
}

/** An option that takes a value. */
interface Valued {
  /** `--status` */
  option: string;
  /** The possible values. Empty when they are not known, such as for file names. */
  values: readonly string[];
  ids?: IdKind;
}

/** A node of the command tree. */
export interface Place {
  /** `svc job list` */
  path: string;
  commands: readonly Choice[];
  options: readonly Choice[];
  valued: readonly Valued[];
  /** The arguments that are ids: their position and kind. */
  arguments: readonly { position: number; ids: IdKind }[];
  /** The first position of the argument that takes all remaining words, and their kind. */
  rest?: { position: number; ids: IdKind };
}

/** All nodes of a command tree, outer nodes first. */
export async function placesOf(place: CommandDef, path: string): Promise<Place[]> {
  const children = (await childrenOf(place)) ?? [];
  const declared: ArgsDef = { ...((place.args ?? {}) as ArgsDef), ...globalsOf(path.split(" ")[0] ?? "") };
  const options = Object.entries(declared).filter(([, { type }]) => type !== "positional");
  const all = Object.values(declared).filter(({ type }) => type === "positional");
  const positionals = all.filter((definition) => !isRest(definition));
  const rest = all.flatMap((definition, position) => {
    const { ids } = ofIds(definition);
    return isRest(definition) && ids !== undefined ? [{ position, ids }] : [];
  });
  const here: Place = {
    path,
    commands: children.map((child) => ({ word: metaOf(child).name, text: metaOf(child).description })),
    options: options.map(([name, { description = "" }]) => ({ word: `--${name}`, text: description })),
    valued: options
      .filter(([, { type }]) => type !== "boolean")
      .map(([name, definition]) => ({
        option: `--${name}`,
        values: valuesOf(definition),
        ...ofIds(definition),
      })),
    arguments: positionals.flatMap((definition, position) => {
      const { ids } = ofIds(definition);
      return ids === undefined ? [] : [{ position, ids }];
    }),
    ...defined({ rest: rest[0] }),
  };
  const below = children.map((child) => placesOf(child, `${path} ${metaOf(child).name}`));
  return [here, ...(await Promise.all(below)).flat()];
}

/** Behind the command `help` come the names of all commands, and nothing else. */
export function withHelp(places: readonly Place[], root: string): Place[] {
  const help = `${root} help`;
  const shown = places
    .filter(({ path }) => path === root || (path.startsWith(`${root} `) && path !== help))
    .map(({ path, commands }) => ({
      path: `${help}${path.slice(root.length)}`,
      commands: commands.filter(({ word }) => word !== "help"),
      options: [],
      valued: [],
      arguments: [],
    }));
  return [...places.filter(({ path }) => path !== help), ...shown];
}

/** The paths of all nodes except the root. */
export function pathsBelow(places: readonly Place[]): string[] {
  return places.slice(1).map(({ path }) => path);
}

/** Each option with a value, prefixed by its command path. */
export function valuedPaths(places: readonly Place[]): string[] {
  return places.flatMap(({ path, valued }) => valued.map(({ option }) => `${path} ${option}`));
}

/** Quotes a word for shells. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Whether the word before an argument decides what it can be. */
export function followsWord({ position, ids }: { position: number; ids: IdKind }): boolean {
  return ids === "facts" && position > 0;
}

function valuesOf(definition: ArgDef): readonly string[] {
  return definition.type === "enum" ? (definition.options ?? []) : [];
}

function ofIds(definition: ArgDef & { ids?: IdKind }): { ids?: IdKind } {
  return defined({ ids: definition.ids });
}
