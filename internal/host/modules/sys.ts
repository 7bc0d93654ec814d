import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { signatureOf } from "./arguments.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";
import type { DescribedState } from "./states-service.ts";

const pattern = arg.string(
  "Only functions whose name or alias matches this glob, such as file.*; all by default.",
);

/**
 * Functions that describe functions.
 *
 * @param all returns all functions, including the ones created here
 */
export function sysFunctions(all: () => readonly ModuleFunction[]): readonly ModuleFunction[] {
  const matching = (glob = "*") => {
    const form = new Bun.Glob(glob);
    return all()
      .filter(({ name, aliases = [] }) => [name, ...aliases].some((each) => form.match(each)))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  };
  return [
    define({
      name: "sys.list_functions",
      doc: "Lists the functions of this peel, with their arguments.",
      args: { pattern },
      readOnly: true,
      run: ({ pattern }) => matching(pattern).map(describe),
    }),
    define({
      name: "sys.list_state_functions",
      doc: "Lists the state functions of this peel, with their arguments.",
      args: { pattern },
      async run({ pattern }, { states }) {
        const form = new Bun.Glob(pattern ?? "*");
        const described = (await states?.functions?.()) ?? [];
        return described
          .filter(({ name }) => form.match(name))
          .sort((one, other) => (one.name < other.name ? -1 : 1))
          .map(({ name, doc, args }) => ({
            name,
            doc,
            args: Object.entries(args).map(([arg, spec]) => ({ name: arg, type: spec.type, doc: spec.doc })),
          }));
      },
    }),
    define({
      name: "sys.doc",
      doc: "Returns the descriptions of functions and of state functions as text, by name.",
      args: { pattern },
      async run({ pattern }, { states }) {
        const form = new Bun.Glob(pattern ?? "*");
        const described = (await states?.functions?.()) ?? [];
        const found = new Map(matching(pattern).map((each) => [each.name, manual(signatureOf(each), each)]));
        for (const each of described.filter(({ name }) => form.match(name))) {
          const before = found.get(each.name);
          const text = manual(`${each.name} (state function)`, each);
          found.set(each.name, before === undefined ? text : `${before}\n\n${text}`);
        }
        return Object.fromEntries([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
      },
    }),
  ];
}

function describe(entry: ModuleFunction): Plain {
  const args = Object.entries(entry.args).map(([name, spec]) => ({
    name,
    type: spec.type,
    required: spec.required ?? false,
    ...(spec.values === undefined ? {} : { values: [...spec.values] }),
    ...defined({ min: spec.min, max: spec.max }),
    doc: spec.doc,
  }));
  return {
    name: entry.name,
    aliases: [...(entry.aliases ?? [])],
    signature: signatureOf(entry),
    doc: entry.doc,
    read_only: entry.readOnly ?? false,
    args,
  };
}

function manual(signature: string, { args, doc }: Omit<DescribedState, "name">): string {
  const lines = Object.entries(args).map(([name, spec]) => `  ${name} (${spec.type}): ${spec.doc}`);
  return [signature, "", doc, ...(lines.length === 0 ? [] : ["", ...lines])].join("\n");
}
