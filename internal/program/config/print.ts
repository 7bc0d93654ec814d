import { redact } from "../../base/log.ts";
import { atLine, type TextPosition } from "../../base/place.ts";
import { version } from "../../base/version.ts";
import type { OptionTable, Values } from "./option.ts";
import { nameInSection, type Section, sectionsOf } from "./section.ts";

/** Where the value of a key comes from. */
export type Origin =
  | { readonly from: "default" }
  /** An environment variable that determines the default, or that is used when the key is empty. */
  | { readonly from: "environment"; readonly variable: string }
  | { readonly from: "file"; readonly file: string; readonly at: TextPosition }
  | { readonly from: "flag"; readonly flag: string };

/**
 * Formats every resolved key as YAML that can be read back, each with a comment that names its origin.
 * Values that look like secrets are masked: a key may hold one by mistake, such as the arguments of a
 * schedule entry.
 */
export function formatConfig<Table extends OptionTable>(
  name: string,
  options: Table,
  values: Values<Table>,
  originOf: (key: string) => Origin,
): string {
  const lineOf = (key: string) =>
    `${nameInSection(key)}: ${redact(options[key]?.type.format(values[key]) ?? "")} # ${originText(originOf(key))}`;
  const linesOf = ({ keys, sections }: Section): string[] => [
    ...keys.map(lineOf),
    ...sections.flatMap((inner) => [`${inner.name}:`, ...linesOf(inner).map((line) => `  ${line}`)]),
  ];
  const lines = [
    `# ${name} ${version}, resolved configuration`,
    ...linesOf(sectionsOf(Object.keys(options))),
  ];
  return `${lines.join("\n")}\n`;
}

function originText(origin: Origin): string {
  switch (origin.from) {
    case "default":
      return "default";
    case "environment":
      return `environment ${origin.variable}`;
    case "flag":
      return `flag ${origin.flag}`;
    case "file":
      return atLine(origin.file, origin.at.line);
  }
}
