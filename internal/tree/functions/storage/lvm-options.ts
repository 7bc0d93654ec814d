import { arg } from "../../../host/modules/mod.ts";

/** Options that the programs of LVM take, by the name that Salt's states have for them. */
export const pvOptions = [
  ...([
    "metadatasize",
    "dataalignment",
    "dataalignmentoffset",
    "pvmetadatacopies",
    "metadatacopies",
  ] as const),
  ...(["metadataignore", "restorefile", "norestorefile", "labelsector", "setphysicalvolumesize"] as const),
];
export const vgOptions = [
  ...(["addtag", "alloc", "autobackup", "clustered", "maxlogicalvolumes", "maxphysicalvolumes"] as const),
  ...(["metadatatype", "vgmetadatacopies", "metadatacopies", "physicalextentsize"] as const),
];
export const lvOptions = [
  ...([
    "activate",
    "chunksize",
    "contiguous",
    "discards",
    "stripes",
    "stripesize",
    "minor",
    "persistent",
  ] as const),
  ...([
    "mirrors",
    "nosync",
    "noudevsync",
    "monitor",
    "ignoremonitoring",
    "permission",
    "poolmetadatasize",
  ] as const),
  ...(["readahead", "regionsize", "type", "virtualsize", "zero"] as const),
];

type OptionArgs<Name extends string> = Readonly<Record<Name, { type: "any"; doc: string }>>;

export function optionArgs<Name extends string>(names: readonly Name[], program: string): OptionArgs<Name> {
  const specs = names.map((name) => [name, arg.any(`The option --${name} of ${program}.`)]);
  return Object.fromEntries(specs) as OptionArgs<Name>;
}

type Given = Readonly<Record<string, unknown>>;

/** Why an option cannot be a word of a program, or `undefined`. */
export function optionProblem(args: Given, names: readonly string[]): string | undefined {
  const bad = names.find(
    (name) => !/^(?:undefined|string|number|boolean)$/.test(typeof (args[name] ?? undefined)),
  );
  return bad === undefined ? undefined : `${bad}: expected a text, a number or a boolean`;
}

export function optionWords(args: Given, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = args[name] ?? undefined;
    if (value === undefined) return [];
    return [`--${name}=${value === true ? "y" : value === false ? "n" : value}`];
  });
}
