import type { Tag } from "../template/mod.ts";

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
      const literals = referenced(tokens).filter((one) => /^["']/.test(one));
      const isLiteral = referenced(tokens).every((one) => /^["'[\],()]/.test(one));
      if (!isLiteral) for (const other of tags.keys()) join(path, other);
      for (const literal of literals) join(path, literal.slice(1, -1).replace(/^(?:salt|svc):\/\//, ""));
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
