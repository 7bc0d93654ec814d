import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

/** One file of the repository: its path from the root, with slashes, and its text. */
export interface Source {
  path: string;
  text: string;
}

/** A rule broken: the file and one sentence about what to do. */
export interface Violation {
  path: string;
  problem: string;
}

/** One thing a file imports: what it names, or `undefined` where the name is computed. */
export type Specifier = string | undefined;

/** What a file contains apart from its words: imports of every form, and code without its prose. */
interface Parsed {
  imports: Specifier[];
  /** What a file takes by name from each place it imports or re-exports from. */
  taken: { from: string; names: string[] }[];
  /** What is loaded with the file: static imports of more than types. */
  loads: string[];
  /** The text with comments, strings and template text blanked, lines kept. */
  code: string;
  /** The comments alone. */
  comments: string;
  /** Every identifier: of values, types, properties and JSX. */
  names: ReadonlySet<string>;
  /** What strings and templates say, one to a line; what is put into a template is left out. */
  strings: string;
}

/** Every committed or about to be committed file that is text, in order of path. */
export function readRepository(): Source[] {
  const root = join(import.meta.dir, "../..");
  const listed = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  if (listed.exitCode !== 0) throw new Error(`git ls-files failed: ${listed.stderr.toString().trim()}`);
  const paths = [...new Set(listed.stdout.toString().split("\0"))].filter((path) => path !== "").sort();
  return paths.flatMap((path) => {
    const text = readIfPresent(join(root, path));
    return text === undefined || text.includes("\0") ? [] : [{ path, text }];
  });
}

// Skip files that were removed but are still in the index.
function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw cause;
  }
}

/** Whether a path is TypeScript. */
export function isCode(source: Source): boolean {
  return /\.tsx?$/.test(source.path);
}

/** Whether a path is TypeScript that ships or builds what ships: no test, and nothing under test/. */
export function isProduction(source: Source): boolean {
  return isCode(source) && /^(?:cmd|internal|release)\//.test(source.path) && !isTest(source);
}

/** Whether a path is a test. */
export function isTest(source: Source): boolean {
  return source.path.endsWith(".test.ts");
}

/** The path a relative import leads to, from the root; `undefined` for packages and builtins. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return posix.normalize(posix.join(posix.dirname(from), specifier));
}

const cache = new WeakMap<Source, Parsed>();

/**
 * Parses a TypeScript file.
 *
 * @throws Error when it does not parse
 */
export function parse(source: Source): Parsed {
  const known = cache.get(source);
  if (known !== undefined) return known;

  const { program, comments, errors } = parseSync(source.path, source.text);
  if (errors.length > 0) throw new Error(`${source.path}: ${errors.map((e) => e.message).join("; ")}`);

  const imports: Specifier[] = [];
  const taken: Parsed["taken"] = [];
  const loads: string[] = [];
  const prose: { start: number; end: number }[] = [...comments];
  const strings: string[] = [];
  const names = new Set<string>();
  const note = ({ name }: { name: string }) => void names.add(name);
  new Visitor({
    Identifier: note,
    JSXIdentifier: note,
    PrivateIdentifier: note,
    ImportDeclaration: (node) => {
      imports.push(node.source.value);
      const names = node.specifiers.map((one) =>
        one.type === "ImportSpecifier" ? nameOf(one.imported) : wholeModule,
      );
      taken.push({ from: node.source.value, names });
      const isType = (one: object) => "importKind" in one && one.importKind === "type";
      const types = node.specifiers.filter(isType).length;
      if (!isType(node) && (types === 0 || types < node.specifiers.length)) loads.push(node.source.value);
    },
    ExportAllDeclaration: (node) => void imports.push(node.source.value),
    ExportNamedDeclaration: (node) => {
      if (!node.source) return;
      imports.push(node.source.value);
      taken.push({ from: node.source.value, names: node.specifiers.map(({ local }) => nameOf(local)) });
      const isValue = (one: { exportKind?: string }) => one.exportKind !== "type";
      if (isValue(node) && node.specifiers.some(isValue)) loads.push(node.source.value);
    },
    TSImportType: (node) => void imports.push(node.source.value),
    ImportExpression: (node) => void imports.push(literalText(node.source)),
    CallExpression: (node) => {
      if (isRequire(node.callee)) imports.push(literalText(node.arguments[0]));
    },
    Literal: (node) => {
      if (typeof node.value !== "string") return;
      prose.push(node);
      strings.push(node.value);
    },
    TemplateElement: (node) => {
      prose.push(node);
      strings.push(node.value.cooked ?? node.value.raw);
    },
  }).visit(program);

  const parsed = {
    imports,
    taken,
    loads,
    code: blank(source.text, prose),
    comments: comments.map((comment) => comment.value).join("\n"),
    names,
    // A phrase does not lead from one text into the next.
    strings: strings.join("\n…\n"),
  };
  cache.set(source, parsed);
  return parsed;
}

/** In place of a name, where a file takes all of a module. */
const wholeModule = "*";

/** The name that an import or export gives: a string, where it is not an identifier. */
function nameOf(node: { type: string; name?: string; value?: unknown }): string {
  return node.name ?? String(node.value);
}

/** Nodes as far as the rules look into them. */
interface Shape {
  type: string;
  name?: unknown;
  value?: unknown;
  object?: unknown;
  property?: unknown;
  quasis?: { value: { cooked: string | null } }[];
}

function literalText(node: unknown): Specifier {
  const shape = node as Shape | undefined;
  if (shape?.type === "Literal" && typeof shape.value === "string") return shape.value;
  if (shape?.type === "TemplateLiteral" && shape.quasis?.length === 1) {
    return shape.quasis[0]?.value.cooked ?? undefined;
  }
  return undefined;
}

// `require(...)` and `import.meta.require(...)`.
function isRequire(node: unknown): boolean {
  const shape = node as Shape;
  if (shape.type === "Identifier") return shape.name === "require";
  return (
    shape.type === "MemberExpression" &&
    (shape.object as Shape).type === "MetaProperty" &&
    (shape.property as Shape).name === "require"
  );
}

function blank(text: string, ranges: { start: number; end: number }[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    if (range.end <= at) continue;
    parts.push(text.slice(at, range.start), text.slice(range.start, range.end).replace(/[^\n]/g, " "));
    at = range.end;
  }
  return [...parts, text.slice(at)].join("");
}

/** One line per violation, for the assertion that there is none. */
export function lines(violations: Violation[]): string[] {
  return violations.map(({ path, problem }) => `${path}: ${problem}`);
}
