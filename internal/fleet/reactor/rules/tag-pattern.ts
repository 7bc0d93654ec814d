import { matchGlob } from "../../../tree/targets/mod.ts";
import { maxTagSegments } from "../events/mod.ts";

/** The form of a glob on peel ids. */
export const sourcePattern = /^[A-Za-z0-9._\-*?[\]!]+$/;

/** What is wrong with a glob on tags, or `undefined`. */
export function patternProblem(pattern: string): string | undefined {
  const segments = pattern.split("/");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\s\u0000-\u001f\u007f]/.test(pattern)) return "a tag must not contain spaces";
  if (segments.includes("")) return "a segment between two / is empty";
  if (segments.length > maxTagSegments) return `more than ${maxTagSegments} segments`;
  if (segments.some((segment) => segment !== "**" && segment.includes("**"))) {
    return "** matches whole segments: write it between two /";
  }
  if (segments.length === 1 && pattern.includes("."))
    return "separate the segments of a tag with /, not with dots";
  return undefined;
}

/**
 * Whether a glob matches any tag of this shape.
 *
 * @param shape the segments; `*` means one arbitrary segment
 */
export function canMatch(pattern: string, shape: readonly string[]): boolean {
  return reaches(pattern.split("/"), shape);
}

function reaches([first, ...others]: readonly string[], shape: readonly string[]): boolean {
  const [segment, ...behind] = shape;
  if (first === undefined) return segment === undefined;
  if (first === "**")
    return reaches(others, shape) || (segment !== undefined && reaches([first, ...others], behind));
  if (segment === undefined) return false;
  return (segment === "*" || matchGlob(first, segment)) && reaches(others, behind);
}
