import { nameFrom } from "../jinja/mod.ts";
import { type Tag, treePath } from "../template/mod.ts";

type Tokens = readonly string[];

/** Groups of files that include or import each other; one group when a name is computed. */
export function connected(tags: ReadonlyMap<string, readonly Tag[]>): string[][] {
  const groupOf = new Map([...tags.keys()].map((path) => [path, new Set([path])]));
  const join = (a: string, b: string) => {
    const [one, other] = [groupOf.get(a), groupOf.get(b)];
    if (one === undefined || other === undefined || one === other) return;
    for (const path of other) groupOf.set(path, one.add(path));
  };
  for (const [path, each] of tags) {
    for (const { tokens } of each.filter(isReference)) {
      const names = referenced(tokens);
      const literals = names.filter((one) => /^["']/.test(one));
      // Escapes, and texts in a row that become one, are worked out by the engine alone.
      const isLiteral = names.every(
        (one, at) =>
          /^["'[\],()]/.test(one) &&
          !one.includes("\\") &&
          !(/^["']/.test(one) && /^["']/.test(names[at + 1] ?? "")),
      );
      if (!isLiteral) for (const other of tags.keys()) join(path, other);
      for (const literal of literals) {
        join(path, treePath(nameFrom(path, literal.slice(1, -1))));
      }
    }
  }
  return [...new Set(groupOf.values())].map((group) => [...group]);
}

/** Whether a tag takes in another file. */
export function isReference({ kind, tokens: [first = ""] }: Tag): boolean {
  return (
    kind === "statement" &&
    /^(?:include|import|import_yaml|import_json|import_text|from|extends)$/.test(first)
  );
}

/** The expression in a reference that names the file. */
export function referenced([kind, ...rest]: Tokens): Tokens {
  const enders =
    kind === "from" ? ["import"] : kind?.startsWith("import") ? ["as"] : ["ignore", "with", "without"];
  const end = rest.findIndex((one) => enders.includes(one));
  return end < 0 ? rest : rest.slice(0, end);
}
