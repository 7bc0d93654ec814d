import { overlaps, type Repository } from "./sources-list.ts";

/** A paragraph of a file in the format of deb822(5), with the place of its lines. */
export interface Stanza {
  /** Lines from, and to but without. */
  from: number;
  to: number;
  /** Values by name in lower case; the lines of a value are joined with line breaks. */
  fields: ReadonlyMap<string, string>;
}

/** Splits a text into its paragraphs; comments belong to none. */
function parseStanzas(text: string): Stanza[] {
  const found: Stanza[] = [];
  let fields = new Map<string, string>();
  let from = 0;
  let name: string | undefined;
  const lines = text.split("\n");
  const end = (to: number) => {
    if (fields.size > 0) found.push({ from, to, fields });
    fields = new Map();
    name = undefined;
  };
  for (const [at, line] of lines.entries()) {
    if (line.startsWith("#")) continue;
    if (line.trim() === "") {
      end(at);
      continue;
    }
    const [, key, value = ""] = /^([^\s:]+)\s*:\s*(.*)$/.exec(line) ?? [];
    if (/^\s/.test(line) && name !== undefined) fields.set(name, `${fields.get(name)}\n${line.trim()}`);
    else if (key !== undefined) {
      if (fields.size === 0) from = at;
      name = key.toLowerCase();
      fields.set(name, value.trim());
    }
  }
  end(lines.length);
  return found;
}

/** Fields of a paragraph that have a name of their own in the one-line format. */
const optionNames: readonly (readonly [field: string, option: string])[] = [
  ["architectures", "arch"],
  ["languages", "lang"],
  ["targets", "target"],
];

/** The repositories that a paragraph stands for: each type, address and suite. */
function repositoriesOf({ fields }: Stanza): Repository[] {
  const words = (name: string) => (fields.get(name) ?? "").split(/\s+/).filter((each) => each !== "");
  const options = new Map<string, string>();
  for (const [field, value] of fields) {
    if (["types", "uris", "suites", "components", "enabled"].includes(field) || field.startsWith("x-"))
      continue;
    const option = optionNames.find(([each]) => each === field)?.[1] ?? field;
    options.set(option, option === "signed-by" ? value : value.split(/\s+/).join(","));
  }
  const disabled = /^(?:no|false|without|off|disable)$/i.test(fields.get("enabled") ?? "yes");
  return words("types").flatMap((type) =>
    type !== "deb" && type !== "deb-src"
      ? []
      : words("uris").flatMap((uri) =>
          words("suites").map((suite) => ({
            type,
            uri,
            suite,
            components: words("components"),
            options,
            disabled,
          })),
        ),
  );
}

/** The paragraph of a repository, without an empty line after it. */
export function formatStanza({ type, uri, suite, components, options, disabled }: Repository): string {
  const fields = [
    ...(disabled ? ["Enabled: no"] : []),
    `Types: ${type}`,
    `URIs: ${uri}`,
    `Suites: ${suite}`,
    ...(components.length === 0 ? [] : [`Components: ${components.join(" ")}`]),
    ...[...options].map(([option, value]) => {
      const field = optionNames.find(([, each]) => each === option)?.[0] ?? option;
      const name = field.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
      return `${name}: ${option === "signed-by" ? value : value.split(",").join(" ")}`;
    }),
  ];
  return fields.join("\n");
}

/** The paragraphs that overlap with a repository, and whether for that one alone. */
export function stanzasOf(
  text: string,
  wanted: Repository,
): { stanza: Stanza; alone: boolean; found: Repository }[] {
  return parseStanzas(text).flatMap((stanza) => {
    const all = repositoriesOf(stanza);
    const found = all.find((each) => overlaps(each, wanted));
    return found === undefined ? [] : [{ stanza, alone: all.length === 1, found }];
  });
}

/** The text with other lines in place of a paragraph; without any, the paragraph is removed. */
export function replaceStanza(text: string, { from, to }: Stanza, lines: string | undefined): string {
  const all = text.split("\n");
  if (lines !== undefined) return [...all.slice(0, from), lines, ...all.slice(to)].join("\n");
  const before = all.slice(0, from);
  while (before.at(-1)?.trim() === "") before.pop();
  const after = all.slice(to);
  while (after[0]?.trim() === "") after.shift();
  if (after.length === 0) return before.length === 0 ? "" : `${before.join("\n")}\n`;
  return [...before, ...(before.length > 0 ? [""] : []), ...after].join("\n");
}
