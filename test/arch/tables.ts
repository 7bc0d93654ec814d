import { parseSync } from "oxc-parser";
import { isProduction, type Source, type Violation } from "./source.ts";

/** The table of a room: its operations, and how each is reached. */
const isTable = ({ path }: Source) =>
  /^internal\/fleet\/[^/]+\/doors\.ts$/.test(path) && !path.startsWith("internal/fleet/operation/");

/** What a table may be made of: everything else would run, or load something. */
const data = new Set([
  ...[
    "Program",
    "ImportDeclaration",
    "ImportSpecifier",
    "ImportNamespaceSpecifier",
    "ExportNamedDeclaration",
  ],
  ...["VariableDeclaration", "VariableDeclarator", "ObjectExpression", "ArrayExpression", "Property"],
  ...["SpreadElement", "Identifier", "Literal", "TemplateLiteral", "TemplateElement", "BinaryExpression"],
  ...["MemberExpression", "TSAsExpression", "TSSatisfiesExpression"],
]);

/** Tables that are more than data, or load more than types. */
export function checkTables(sources: Source[]): Violation[] {
  return sources.filter(isTable).flatMap((source): Violation[] => {
    const { program } = parseSync(source.path, source.text);
    const found: Violation[] = [];
    for (const node of program.body as { type: string; importKind?: string }[]) {
      if (node.type === "ImportDeclaration" && node.importKind !== "type")
        found.push({ path: source.path, problem: "loads a module; import types alone" });
    }
    const kinds = new Set<string>();
    walk(program, (type) => kinds.add(type));
    for (const type of kinds) {
      if (!data.has(type) && !type.startsWith("TS"))
        found.push({ path: source.path, problem: `has a ${type}; a table is data alone` });
    }
    return found;
  });
}

function walk(node: unknown, visit: (type: string) => void): void {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const { type } = node as { type?: unknown };
  if (typeof type === "string") visit(type);
  for (const value of Object.values(node)) walk(value, visit);
}

/** Where operators send requests; and where the subjects of the tables may also stand. */
const subject =
  /["'`]svc\.(?:admin\.(?!follow\.)[a-z-]+\.|job\.(?:request|list)|job\.[^."'`]+\.cancel|target\.resolve|rollout\.|reactor\.|binary\.)/;
const elsewhere = new Set([
  // Judged by peels, which load no table.
  "internal/wire/signed-subjects.ts",
  // Permissions: tests compare them with the tables.
  "internal/bus/accounts/operator-users.ts",
  "internal/bus/accounts/users.ts",
]);

/** Subjects of operators that stand in more places than the tables. */
export function checkSubjects(sources: Source[]): Violation[] {
  return sources
    .filter((source) => isProduction(source) && !isTable(source) && !elsewhere.has(source.path))
    .flatMap((source) => {
      const [found] = subject.exec(source.text) ?? [];
      return found === undefined
        ? []
        : [{ path: source.path, problem: `names ${found.slice(1)}…; take it from the table of its room` }];
    });
}
