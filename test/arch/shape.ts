import { isCode, isProduction, parse, resolveImport, type Source, type Violation } from "./source.ts";

const fileLines = 500;
const mainLines = 25;

/** Code files over 500 lines, and a binary's main over 25. */
export function checkSize(sources: Source[]): Violation[] {
  return sources.filter(isCode).flatMap((source) => {
    const lines = source.text.replace(/\n$/, "").split("\n").length;
    const max = /^cmd\/[^/]+\/main\.ts$/.test(source.path) ? mainLines : fileLines;
    if (lines <= max) return [];
    return [{ path: source.path, problem: `has ${lines} lines, ${max} are allowed; split it by verb` }];
  });
}

/** Production code that imports tests or what tests use. */
export function checkTestImports(sources: Source[]): Violation[] {
  return sources.filter(isProduction).flatMap((source) =>
    parse(source).imports.flatMap((specifier): Violation[] => {
      if (specifier === undefined) return [];
      const target = resolveImport(source.path, specifier) ?? specifier;
      if (!target.startsWith("test/") && !target.endsWith(".test.ts") && target !== "bun:test") return [];
      return [{ path: source.path, problem: `imports ${target}, which is there for tests only` }];
    }),
  );
}

const named = /^(?:cmd|docs|internal|release|test)\//;
const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const vague = new Set(["util", "utils", "helper", "helpers", "common", "misc", "shared"]);

/** Files and folders that are not named in kebab-case, or by a word that says nothing. */
export function checkNames(sources: Source[]): Violation[] {
  return sources
    .filter((source) => named.test(source.path))
    .flatMap((source): Violation[] => {
      // "approve.test.ts" is "approve", "test" and "ts".
      const words = source.path.split("/").flatMap((segment) => segment.split("."));
      const odd = words.find((word) => !kebab.test(word));
      if (odd !== undefined) return [{ path: source.path, problem: `"${odd}" is not kebab-case` }];
      const empty = words.find((word) => vague.has(word));
      if (empty === undefined) return [];
      return [{ path: source.path, problem: `"${empty}" says nothing; name it after what it does` }];
    });
}
