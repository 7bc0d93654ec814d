import { matchGlob } from "../../targets/mod.ts";
import { compileExpression } from "./expression.ts";

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
      return (path: string) =>
        matchGlob(pattern, path) || matchGlob(pattern, path.slice(path.lastIndexOf("/") + 1));
    }
    const expression = compileExpression("E@", pattern.slice(2), []);
    return (path: string) => expression.test(path);
  });
  return (path) => tests.some((test) => test(path));
}
