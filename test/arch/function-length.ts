import { parseSync, Visitor } from "oxc-parser";
import { isProduction, type Source, type Violation } from "./source.ts";

const functionLines = 80;

/** Every named function over 80 lines. */
export function checkFunctions(sources: Source[]): Violation[] {
  return longFunctions(sources).map(({ path, name, lines }) => ({
    path,
    problem: `${name} has ${lines} lines, ${functionLines} are allowed; cut it by its decisions`,
  }));
}

export function longFunctions(sources: Source[]): { path: string; name: string; lines: number }[] {
  return sources
    .filter(isProduction)
    .flatMap((source) => namedFunctions(source).map((one) => ({ path: source.path, ...one })))
    .filter(({ lines }) => lines > functionLines);
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
