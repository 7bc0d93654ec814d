import { expectation } from "../../internal/host/modules/arguments.ts";
import type { StateFunction } from "../../internal/tree/function/function.ts";
import { stateRegistry } from "../../internal/tree/functions/registry.ts";
import { cell } from "./reference.ts";

/** The reference of every state function, as Markdown: the text of `docs/state-functions.md`. */
export async function statesReference(): Promise<string> {
  const modules = Map.groupBy(await sortedFunctions(), ({ name }) => name.slice(0, name.indexOf(".")));
  return `${[
    "# State functions",
    "<!-- Generated from the tables in internal/tree/functions: change those, not this page. -->",
    "This page lists all state functions. [states.md](states.md) shows how to use them. Every state also takes `name`, `names`, the requisites, `unless`, `onlyif`, `order`, `failhard`, `parallel`, `aggregate` and `retry`. `name` is the object that the state manages, such as the path of a file. Its default is the ID of the declaration.",
    "Where text is expected, a number keeps its written form: `mode: 0644` and `version: 1.10` need no quotes. A single text is accepted where a list is expected.",
    ...[...modules].flatMap(([module, functions]) => [
      `## ${module}`,
      ...functions.flatMap(describeFunction),
    ]),
  ].join("\n\n")}\n`;
}

/** By name, whatever order the modules are loaded in. */
export async function sortedFunctions(): Promise<StateFunction[]> {
  return [...(await stateRegistry.all())].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function describeFunction({ name, doc, args, onWatch }: StateFunction): string[] {
  const watched = onWatch === undefined ? "" : " Acts when a watched state has changed.";
  const rows = Object.entries(args).map(([arg, spec]) => {
    const hasLimits = spec.values !== undefined || spec.min !== undefined || spec.max !== undefined;
    return [
      `\`${arg}\``,
      cell(`${spec.type}${spec.required ? ", required" : ""}`),
      cell(`${spec.doc}${hasLimits ? ` Must be ${expectation(spec)}.` : ""}`),
    ];
  });
  const head = ["Argument", "Type", "Description"];
  const table = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
  return [`### ${name}`, `${doc}${watched}`, ...(rows.length === 0 ? [] : [table])];
}
