import { parseSync, Visitor } from "oxc-parser";
import { isProduction, type Source, type Violation } from "./source.ts";

const functionLines = 80;

/** Functions that are longer than allowed, by file and name, with their lines. */
export type Lengths = Readonly<Record<string, number>>;

/** Functions over 80 lines without an entry, those longer than their entry, and entries to lower or remove. */
export function checkFunctions(sources: Source[], limits: Lengths): Violation[] {
  const found = longFunctions(sources);
  const names = [...new Set([...Object.keys(limits), ...Object.keys(found)])].sort();
  return names.flatMap((name): Violation[] => {
    const [path = "", called = ""] = name.split(" ");
    const limit = limits[name] ?? functionLines;
    const length = found[name] ?? 0;
    if (length > limit)
      return [
        { path, problem: `${called} has ${length} lines, ${limit} are allowed; cut it by its decisions` },
      ];
    if (name in limits && length < limit)
      return [{ path, problem: `${called} is shorter than its limit of ${limit}; lower or remove it` }];
    return [];
  });
}

/** Every named function over 80 lines; one with a name that its file gives twice gets a number. */
export function longFunctions(sources: Source[]): Lengths {
  const lengths: Record<string, number> = {};
  for (const source of sources.filter(isProduction)) {
    for (const { name, lines } of namedFunctions(source)) {
      if (lines <= functionLines) continue;
      let key = `${source.path} ${name}`;
      for (let again = 2; key in lengths; again++) key = `${source.path} ${name}#${again}`;
      lengths[key] = lines;
    }
  }
  return Object.fromEntries(Object.entries(lengths).sort(([one], [other]) => (one < other ? -1 : 1)));
}

// A declaration, a method, and a function or arrow that a variable or a property holds.
function namedFunctions({ path, text }: Source): { name: string; lines: number }[] {
  const { program } = parseSync(path, text);
  const found: { name: string; lines: number }[] = [];
  const add = (name: unknown, node: unknown) => {
    const range = spanOf(node);
    if (range === undefined) return;
    found.push({
      name: nameOf(name),
      lines: text.slice(range.start, range.end).split("\n").length,
    });
  };
  new Visitor({
    FunctionDeclaration: (node) => add(node.id, node),
    VariableDeclarator: (node) => add(node.id, node.init),
    Property: (node) => add(node.key, node.value),
    MethodDefinition: (node) => add(node.key, node.value),
    PropertyDefinition: (node) => add(node.key, node.value),
  }).visit(program);
  return found;
}

// Of a call with a function in it, `memo(function Table() …)`, the function is measured.
function spanOf(node: unknown): { start: number; end: number } | undefined {
  const shape = node as { type: string; start: number; end: number; arguments?: unknown[] } | null;
  if (shape === null) return undefined;
  if (/Function/.test(shape.type)) return shape;
  return shape.type === "CallExpression" ? shape.arguments?.map(spanOf).find((one) => one) : undefined;
}

function nameOf(node: unknown): string {
  const shape = node as { name?: string; value?: unknown } | null;
  return shape?.name ?? String(shape?.value ?? "default");
}
