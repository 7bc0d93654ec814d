import { expectation } from "../../internal/host/modules/arguments.ts";
import type { StateFunction } from "../../internal/tree/function/function.ts";
import { stateRegistry } from "../../internal/tree/functions/registry.ts";
import { cell } from "./reference.ts";

/** The reference of every state function, as Markdown: the text of `docs/state-functions.md`. */
export async function statesReference(): Promise<string> {
  const modules = Map.groupBy(await sortedFunctions(), ({ name }) => name.slice(0, name.indexOf(".")));
  return `${[
    "# State functions",
    "<!-- Generated from the tables in internal/states/functions: change those, not this page. -->",
    "The functions that a state file can use; see [states.md](states.md) for an introduction. Every state also accepts `name`, `names`, the requisites, `unless`, `onlyif`, `order`, `failhard` and `retry`. `name` is the object of the state, such as the path of a file; it defaults to the id of the declaration.",
    "Where a string is expected, a number keeps its written form: `mode: 0644` and `version: 1.10` need no quotes. Where a list is expected, one string is a list of one.",
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
