import { version } from "../base/version.ts";
import type { YamlPosition } from "../base/yaml.ts";
import type { OptionTable, Values } from "./option.ts";

/** Where the value of a key comes from. */
export type Origin =
  | { readonly from: "default" }
  | { readonly from: "file"; readonly file: string; readonly at: YamlPosition }
  | { readonly from: "flag"; readonly flag: string };

/** Every resolved key as YAML that can be read again, each with a comment that names its origin. */
export function formatConfig<Table extends OptionTable>(
  name: string,
  options: Table,
  values: Values<Table>,
  originOf: (key: string) => Origin,
): string {
  const lines = [`# ${name} ${version}, resolved configuration`];
  const sections = new Map<string, string[]>();
  for (const [key, declared] of Object.entries(options)) {
    const [section = "", inner] = key.split(".");
    const place = inner === undefined ? "" : section;
    const line = `${inner ?? key}: ${declared.type.format(values[key])} # ${originText(originOf(key))}`;
    sections.set(place, [...(sections.get(place) ?? []), line]);
  }
  for (const [section, inner] of sections) {
    if (section === "") lines.push(...inner);
    else lines.push(`${section}:`, ...inner.map((line) => `  ${line}`));
  }
  return `${lines.join("\n")}\n`;
}

function originText(origin: Origin): string {
  if (origin.from === "default") return "default";
  return origin.from === "flag" ? `flag ${origin.flag}` : `${origin.file}:${origin.at.line}`;
}
