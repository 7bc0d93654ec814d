import { escapeInvisible, invisible } from "../../base/invisible.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";

/**
 * Formats plain data as YAML in which every character can be seen. Texts with one that cannot are in double
 * quotes with escapes; what reads the YAML gets the same texts.
 */
export function visibleYaml(data: unknown): string {
  // The writer of YAML leaves most of these characters as they are. It gets a word for each such text, and the
  // word is replaced in what it wrote.
  const prefix = wordThatIsNotIn(JSON.stringify(data) ?? "");
  const written: string[] = [];
  const wordFor = (text: string): string => {
    if (text.search(invisible) < 0 || isLines(text)) return text;
    const quoted = doubleQuoted(text);
    written.push(quoted);
    // As long as what replaces it: the writer has another form for long keys.
    return `${prefix}${written.length - 1}_`.padEnd(quoted.length, "x");
  };
  const words = new RegExp(`${prefix}([0-9]+)_x*`, "g");
  return formatYaml(replaced(data, wordFor)).replace(words, (_, index) => written[Number(index)] ?? "");
}

/** Whether line ends are the only such characters, which YAML has a form of its own for. */
function isLines(text: string): boolean {
  return text.replaceAll("\n", "").search(invisible) < 0;
}

/** YAML 1.2.2, section 7.3.1. A pair of escapes is not one character there, as it is in JSON. */
function doubleQuoted(text: string): string {
  const pairs = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/g;
  return escapeInvisible(JSON.stringify(text)).replace(pairs, (pair) => {
    const code = String(JSON.parse(`"${pair}"`)).codePointAt(0) ?? 0;
    return `\\U${code.toString(16).padStart(8, "0")}`;
  });
}

function wordThatIsNotIn(text: string): string {
  let word = "q";
  while (text.includes(word)) word += "q";
  return word;
}

function replaced(data: unknown, wordFor: (text: string) => string): unknown {
  if (typeof data === "string") return wordFor(data);
  if (Array.isArray(data)) return data.map((item) => replaced(item, wordFor));
  if (data instanceof Uint8Array) return wordFor(Buffer.from(data).toString("hex"));
  if (typeof data !== "object" || data === null || data instanceof Date) {
    return data;
  }
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [wordFor(key), replaced(value, wordFor)]),
  );
}
