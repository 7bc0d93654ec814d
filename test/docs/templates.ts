import { hostFunctions } from "../../internal/tree/host-functions/table.ts";
import { listFilters } from "../../internal/tree/jinja/filters-list.ts";
import { textFilters } from "../../internal/tree/jinja/filters-text.ts";
import {
  byteMethodNames,
  listMethodNames,
  mapMethodNames,
  textMethodNames,
} from "../../internal/tree/jinja/methods.ts";
import { tests as jinjaTests } from "../../internal/tree/jinja/tests.ts";
import { filters, tests } from "../../internal/tree/template/filters.ts";
import { pureFunctions, settingsFunctions } from "../../internal/tree/template/salt/table.ts";
import { cell } from "./reference.ts";

const sorted = (table: object): readonly string[] => Object.keys(table).sort();
const builtinFilters = sorted({ ...textFilters, ...listFilters });
const builtinTests = sorted(jinjaTests);
const code = (names: Iterable<string>): string => [...names].map((name) => `\`${name}\``).join(", ");
const tags = [
  ...[
    "block",
    "break",
    "call",
    "continue",
    "do",
    "extends",
    "filter",
    "for",
    "from",
    "if",
    "import",
    "import_json",
  ],
  ...[
    "import_text",
    "import_yaml",
    "include",
    "load_json",
    "load_text",
    "load_yaml",
    "macro",
    "raw",
    "set",
    "with",
  ],
];
const globals = [
  "cycler",
  "dict",
  "joiner",
  "namespace",
  "odict",
  "opts",
  "raise",
  "range",
  "show_full_context",
];

/** What templates have, as Markdown: the text of `docs/template-reference.md`. */
export function templateReference(): string {
  const own = (table: Readonly<Record<string, unknown>>, known: readonly string[]) =>
    Object.keys(table)
      .filter((name) => !known.includes(name))
      .sort();
  return `${[
    "# Template reference",
    "<!-- Generated from the tables in internal/tree/jinja, internal/tree/template and internal/tree/host-functions: change those, not this page. -->",
    "This page lists what templates have. [templates.md](templates.md) explains how they work, and what is different from Salt.",
    "## Tags",
    `${code(tags)}.`,
    "## Names",
    `${code(globals)}, and the names in [states.md](states.md#templates).`,
    "## Filters",
    `Of Jinja: ${code(builtinFilters)}.`,
    `Of Salt: ${code([...own(filters, builtinFilters), "which"])}.`,
    "## Tests",
    `Of Jinja: ${code(builtinTests)}.`,
    `Of Salt: ${code(own(tests, builtinTests))}.`,
    "## Methods",
    `Of texts: ${code([...textMethodNames].sort())}.`,
    `Of bytes: ${code([...byteMethodNames].sort())}.`,
    `Of lists: ${code([...listMethodNames].sort())}.`,
    `Of maps: ${code([...mapMethodNames].sort())}.`,
    "## Functions that need no host",
    "Templates of states have all of them. Templates of settings have those with a mark in the last column.",
    tableOf(
      ["Function", "Arguments", "Description", "In settings"],
      [...pureFunctions.values()].map(({ name, parameters, doc }) => [
        ...[`\`${name}\``, code(parameters.map(argument)), cell(doc)],
        settingsFunctions.has(name) ? "yes" : "",
      ]),
    ),
    "## Functions that look at the host",
    "`templates.host_functions` of the peel decides which of these templates may call. Templates of settings never can.",
    tableOf(
      ["Function", "Arguments", "Needs", "Description"],
      [...hostFunctions.values()].map(({ name, parameters, needs, doc }) => [
        ...[`\`${name}\``, code(parameters.map(argument)), `\`${needs}\``, cell(doc)],
      ]),
    ),
  ].join("\n\n")}\n`;
}

/** An argument that may be left out is in brackets. */
function argument(parameter: string): string {
  return parameter.endsWith("?") ? `[${parameter.slice(0, -1)}]` : parameter;
}

function tableOf(head: string[], rows: string[][]): string {
  const sorted = rows.sort(([one = ""], [other = ""]) => (one < other ? -1 : 1));
  return [head, head.map(() => "---"), ...sorted].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
