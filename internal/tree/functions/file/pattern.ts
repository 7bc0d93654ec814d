import { StateFailure } from "../../function/mod.ts";

/**
 * Compiles patterns: a glob for the whole relative path, where `*` also matches slashes, or a regular
 * expression after `E@`.
 *
 * @returns a function that tells whether a pattern matches a path or its last segment; `undefined` without
 *   patterns
 * @throws StateFailure naming a pattern that is not a valid regular expression
 */
export function readPatterns(
  patterns: readonly string[] | undefined,
): ((path: string) => boolean) | undefined {
  if (patterns === undefined || patterns.length === 0) return undefined;
  const tests = patterns.map((pattern) => {
    if (!pattern.startsWith("E@")) {
      const glob = globOf(pattern);
      return (path: string) => glob.test(path) || glob.test(path.slice(path.lastIndexOf("/") + 1));
    }
    const expression = expressionOf(pattern.slice(2));
    return (path: string) => expression.test(path);
  });
  return (path) => tests.some((test) => test(path));
}

function expressionOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern);
  } catch (cause) {
    throw new StateFailure(`${JSON.stringify(pattern)} is not a valid regular expression`, {}, { cause });
  }
}

function globOf(pattern: string): RegExp {
  const parts = pattern.split(/(\*|\?|\[[^\]]+\])/).map((part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (/^\[.+\]$/s.test(part)) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return RegExp.escape(part);
  });
  return expressionOf(`^(?:${parts.join("")})$`);
}
