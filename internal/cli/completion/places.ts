import type { ArgDef, ArgsDef, CommandDef } from "citty";
import { childrenOf, type IdsArg, isRest, metaOf } from "../../program/command-line/command.ts";
import { globalArgs } from "../../program/command-line/globals.ts";
import type { IdKind } from "../../program/command-line/id-kinds.ts";

/** A word that may be next, and what it is for. */
interface Choice {
  word: string;
  text: string;
}

/** An option that takes a value. */
interface Valued {
  /** `--status` */
  option: string;
  /** The values there are; none where they are not known here, as the name of a file. */
  values: readonly string[];
  ids?: IdKind;
}

/** A place in the tree of commands. */
export interface Place {
  /** `svc job list` */
  path: string;
  commands: readonly Choice[];
  options: readonly Choice[];
  valued: readonly Valued[];
  /** The arguments that are ids: how many stand before, and of what. */
  arguments: readonly { position: number; ids: IdKind }[];
}

/** Every place in a tree of commands, the outer ones first. */
export async function placesOf(place: CommandDef, path: string): Promise<Place[]> {
  const children = (await childrenOf(place)) ?? [];
  const declared: ArgsDef = { ...((place.args ?? {}) as ArgsDef), ...globalArgs };
  const options = Object.entries(declared).filter(([, { type }]) => type !== "positional");
  const positionals = Object.values(declared).filter(
    (definition) => definition.type === "positional" && !isRest(definition),
  );
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
  };
  const below = children.map((child) => placesOf(child, `${path} ${metaOf(child).name}`));
  return [here, ...(await Promise.all(below)).flat()];
}

/** The paths of all places but the outermost. */
export function pathsBelow(places: readonly Place[]): string[] {
  return places.slice(1).map(({ path }) => path);
}

/** Each option that takes a value with the path before it. */
export function valuedPaths(places: readonly Place[]): string[] {
  return places.flatMap(({ path, valued }) => valued.map(({ option }) => `${path} ${option}`));
}

/** A word as shells read it, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function valuesOf(definition: ArgDef): readonly string[] {
  return definition.type === "enum" ? (definition.options ?? []) : [];
}

function ofIds(definition: IdsArg): { ids?: IdKind } {
  return definition.ids === undefined ? {} : { ids: definition.ids };
}
