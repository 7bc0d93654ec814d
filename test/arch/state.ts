import { parseSync, visitorKeys } from "oxc-parser";
import { isProduction, type Source, type Violation } from "./source.ts";

/**
 * The rule: what a module makes when it is loaded never changes. So at module level, which is everything
 * outside functions, there is
 *
 * - no `let`, no `var`, and no static field of a class that is not `readonly`;
 * - no `new` but of the values below, no call of a createX() or openX(), and no function that is
 *   called where it stands: what they return has state of its own;
 * - no `Map`, `Set` or list that starts empty, unless its type says readonly: it is meant to be filled;
 * - no `Map` or `Set` that is exported, unless its type says readonly: others could fill it.
 *
 * And nowhere in the file is a binding of the module, or anything inside it, assigned to, deleted from, or
 * sent a message that changes it; nor does `exec` or `test` run on a shared expression that remembers where
 * it stopped.
 */
const values = new Set(["Map", "Set", "RegExp", "TextEncoder", "Packr"]);
const changing = new Set(
  "set add delete clear push pop shift unshift splice sort reverse fill copyWithin defineProperty".split(" "),
);
const objectChanging = new Set(["assign", "defineProperty", "defineProperties", "setPrototypeOf"]);

interface Node {
  type: string;
  start: number;
  [key: string]: unknown;
}

/** What becomes part of a binary; scripts of the build run once, from top to bottom. */
function isShipped(source: Source): boolean {
  return isProduction(source) && /^(?:cmd|internal)\//.test(source.path);
}

/** State of a module: what can change at module level, and where it is changed. */
export function checkState(sources: Source[]): Violation[] {
  return sources.filter(isShipped).flatMap((source) => {
    const { program, errors } = parseSync(source.path, source.text);
    if (errors.length > 0) throw new Error(`${source.path}: does not parse`);
    const found: Violation[] = [];
    const report = (node: Node, problem: string) => {
      const line = source.text.slice(0, node.start).split("\n").length;
      found.push({ path: source.path, problem: `line ${line}: ${problem}` });
    };
    const root = program as unknown as Node;
    checkLevel(root, report);
    checkChanges(root, report);
    return found;
  });
}

type Report = (node: Node, problem: string) => void;
const instead = "keep it in what a createX() returns";

/** What stands outside functions. */
function checkLevel(node: Node, report: Report, exported = false): void {
  if (isFunction(node)) return;
  if (node.type === "VariableDeclaration") {
    if (node.kind === "let" || node.kind === "var") report(node, `${node.kind} at module level; ${instead}`);
    for (const declared of children(node)) checkConstant(declared, report, exported);
  }
  if (node.type === "VariableDeclarator" && isReadonly(node) && isEmpty(bare(node.init as Node))) return;
  if (node.type === "PropertyDefinition") {
    if (node.static !== true) return;
    if (node.readonly !== true) report(node, `a static field that is not readonly; ${instead}`);
  }
  if (node.type === "NewExpression") {
    const name = nameOf(node.callee) ?? "something";
    if (!values.has(name)) report(node, `new ${name}() at module level; ${instead}`);
    else if (isEmpty(node)) report(node, `a ${name} that starts empty; ${instead}`);
  }
  if (node.type === "CallExpression") {
    const callee = bare(node.callee as Node);
    const name = nameOf(callee) ?? "";
    if (/^(?:create|open)[A-Z]/.test(name)) report(node, `${name}() at module level; ${instead}`);
    if (callee !== undefined && isFunction(callee))
      report(node, `a function called where it stands; ${instead}`);
  }
  const isExport = node.type === "ExportNamedDeclaration";
  for (const child of children(node)) checkLevel(child, report, isExport);
}

function checkConstant(declared: Node, report: Report, exported: boolean): void {
  const made = bare(declared.init as Node | null);
  if (made === undefined || isReadonly(declared)) return;
  if (made.type === "ArrayExpression" && isEmpty(made))
    report(declared, `a list that starts empty; ${instead}`);
  const name = made.type === "NewExpression" ? nameOf(made.callee) : undefined;
  if (exported && (name === "Map" || name === "Set")) {
    report(declared, `an exported ${name} that others can change; give it the type Readonly${name}`);
  }
}

/** Whether it makes a list, a map or a set with nothing in it. */
function isEmpty(made: Node | undefined): boolean {
  if (made?.type === "ArrayExpression") return (made.elements as unknown[]).length === 0;
  if (made?.type !== "NewExpression" || !/^(?:Map|Set)$/.test(nameOf(made.callee) ?? "")) return false;
  return (made.arguments as unknown[]).length === 0;
}

/** Changes of what the module declares or imports, wherever they stand. */
function checkChanges(program: Node, report: Report): void {
  const shared = bindingsIn(program);
  const expressions = new Set<string>();
  const walk = (node: Node, hidden: ReadonlySet<string>): void => {
    const inner = node === program ? hidden : new Set([...hidden, ...bindingsIn(node)]);
    const isShared = (target: unknown): string | undefined => {
      const name = rootOf(target as Node);
      return name !== undefined && shared.has(name) && !inner.has(name) ? name : undefined;
    };
    const changed = (target: unknown) => {
      const name = isShared(target);
      if (name !== undefined) report(node, `${name} of this module is changed; ${instead}`);
    };
    if (node.type === "VariableDeclarator" && remembers(node.init as Node | null)) {
      const name = nameOf(node.id);
      if (name !== undefined && !inner.has(name)) expressions.add(name);
    }
    if (node.type === "AssignmentExpression") changed(node.left);
    if (node.type === "UpdateExpression") changed(node.argument);
    if (node.type === "UnaryExpression" && node.operator === "delete") changed(node.argument);
    if (node.type === "CallExpression") {
      const callee = node.callee as Node;
      const method = callee.type === "MemberExpression" ? nameOf(callee.property) : undefined;
      const [first] = node.arguments as Node[];
      if (nameOf(callee.object) === "Object" && objectChanging.has(method ?? "")) changed(first);
      else if (changing.has(method ?? "")) changed(callee.object);
      else if (method === "exec" || method === "test") {
        const name = isShared(callee.object);
        if (name !== undefined && expressions.has(name)) {
          report(node, `${name}.${method}() remembers where it stopped; use matchAll or replace`);
        }
      }
    }
    for (const child of children(node)) walk(child, inner);
  };
  walk(program, new Set());
}

/** Names that a scope declares itself: the program, a block, a loop or a function with its parameters. */
function bindingsIn(scope: Node): Set<string> {
  const names = new Set<string>();
  const add = (pattern: unknown) => {
    for (const name of namesOf(pattern as Node | null)) names.add(name);
  };
  const declare = (node: Node): void => {
    if (node.type === "ExportNamedDeclaration" && node.declaration) declare(node.declaration as Node);
    if (node.type === "ImportDeclaration") for (const each of node.specifiers as Node[]) add(each.local);
    if (node.type === "VariableDeclaration") for (const each of node.declarations as Node[]) add(each.id);
    if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") add(node.id);
  };
  if (isFunction(scope)) {
    for (const parameter of scope.params as Node[]) add(parameter);
  } else if (scope.type === "CatchClause") add(scope.param);
  else if (/^(?:Program|BlockStatement|StaticBlock|SwitchCase|For\w*Statement)$/.test(scope.type)) {
    for (const child of children(scope)) declare(child);
  }
  return names;
}

/** The names that a pattern binds. */
function namesOf(pattern: Node | null): string[] {
  if (pattern === null) return [];
  switch (pattern.type) {
    case "Identifier":
      return [String(pattern.name)];
    case "ObjectPattern":
      return (pattern.properties as Node[]).flatMap((each) => namesOf((each.value ?? each.argument) as Node));
    case "ArrayPattern":
      return (pattern.elements as (Node | null)[]).flatMap(namesOf);
    case "AssignmentPattern":
      return namesOf(pattern.left as Node);
    case "RestElement":
      return namesOf(pattern.argument as Node);
    case "TSParameterProperty":
      return namesOf(pattern.parameter as Node);
    default:
      return [];
  }
}

/** The name at the left end of `name.a[0].b`. */
function rootOf(target: Node): string | undefined {
  const at = bare(target);
  return at?.type === "MemberExpression" ? rootOf(at.object as Node) : nameOf(at);
}

/** An expression without the types around it. */
function bare(node: Node | null | undefined): Node | undefined {
  if (!node) return undefined;
  const isTyped = /^(?:TS(?:As|Satisfies|NonNull)Expression|TSTypeAssertion|ParenthesizedExpression)$/;
  return isTyped.test(node.type) ? bare(node.expression as Node) : node;
}

/** Whether a regular expression keeps `lastIndex`. */
function remembers(node: Node | null): boolean {
  const regex = bare(node)?.regex as { flags: string } | undefined;
  return regex !== undefined && /[gy]/.test(regex.flags);
}

function isReadonly(declared: Node): boolean {
  const type = (declared.id as Node).typeAnnotation as Node | undefined;
  const named = type?.typeAnnotation as Node | undefined;
  if (named?.type === "TSTypeOperator") return named.operator === "readonly";
  return /^Readonly/.test(nameOf(named?.typeName) ?? "");
}

function isFunction(node: Node): boolean {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

function nameOf(node: unknown): string | undefined {
  const shape = node as Node | null | undefined;
  return shape?.type === "Identifier" ? String(shape.name) : undefined;
}

function children(node: Node): Node[] {
  return (visitorKeys[node.type] ?? []).flatMap((key) => {
    const value = node[key];
    return (Array.isArray(value) ? value : [value]).filter((each): each is Node => Boolean(each));
  });
}
