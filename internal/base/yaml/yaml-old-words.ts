import type { TextPosition } from "../place.ts";
import type { YamlNode } from "./yaml.ts";

/** A text that YAML 1.1 reads as true or false, which is what Salt does. */
export interface OldWord {
  readonly at: TextPosition;
  /** What to say about it: the word, what it is here, and what to write. */
  readonly message: string;
}

const meanings = new Map<string, boolean>(
  [
    ["yes", true],
    ["on", true],
    ["no", false],
    ["off", false],
  ].flatMap(([word, meaning]) => {
    const text = String(word);
    const first = text.slice(0, 1).toUpperCase() + text.slice(1);
    return [text, first, text.toUpperCase()].map((each) => [each, meaning === true] as const);
  }),
);

/**
 * Finds values that are texts in YAML 1.2, and would be true or false in YAML 1.1.
 *
 * @param quoted the scalars that are texts because of how they are written
 */
export function oldWordsIn(root: YamlNode, quoted: WeakSet<YamlNode>): OldWord[] {
  const found: OldWord[] = [];
  // An alias is the node that it refers to.
  const seen = new Set<YamlNode>();
  const visit = (node: YamlNode): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === "list") for (const item of node.items) visit(item);
    else if (node.kind === "map") for (const { value } of node.entries) visit(value);
    else if (typeof node.value === "string" && !quoted.has(node)) {
      const message = oldWord(node.value);
      if (message !== undefined) found.push({ at: node.at, message });
    }
  };
  visit(root);
  return found;
}

/** What to say about a text without quotes; `undefined` for most texts. */
export function oldWord(text: string): string | undefined {
  const meaning = meanings.get(text);
  if (meaning === undefined) return undefined;
  return `${text} is a text here, and ${meaning} in Salt: write ${meaning}, or "${text}" with quotes`;
}
