import { tagsOf } from "./tags.ts";

/** The name of the filter that writes a value as Python does. */
export const pythonFilter = "svc_python";

// The engine writes `true`, `none` and lists in a way of its own. It has no hook for what it writes, so each
// output binds its value, and everything but text and numbers passes a filter. Numbers stay in the engine,
// because 1.0 would leave it as 1; true and false are not numbers there.
const variable = "svc_value";
const opening = `set ${variable} = (`;
const kept = ["string", "number", "undefined"].map((kind) => `${variable} is ${kind}`).join(" or ");
const written = `{{ ${variable} if ${kept} else ${variable}|${pythonFilter} `;

/** Rewrites each `{{ … }}`, so that values are written as Jinja writes them. Line numbers do not change. */
export function rewriteOutputs(text: string): string {
  let rewritten = "";
  let end = 0;
  for (const { kind, from, to, trims, tokens } of tagsOf(text)) {
    if (kind !== "output" || tokens.length === 0) continue;
    const [left, right] = trims;
    const expression = text.slice(from + 2 + left.length, to - 2 - right.length);
    rewritten += `${text.slice(end, from)}{%${left} ${opening}${expression}) %}${written}${right}}}`;
    end = to;
  }
  return rewritten + text.slice(end);
}

/** The columns of the expression in a rewritten line, when the engine marked the output instead. */
export function expressionSpan(
  line: string,
  span: { from: number; length: number },
): { from: number; length: number } {
  const isOutput = line.startsWith(written, span.from);
  const before = line.slice(0, span.from);
  const start = before.lastIndexOf(opening);
  if (!isOutput || start < 0) return span;
  const expression = before.slice(start + opening.length, before.lastIndexOf(") %}"));
  const indent = expression.length - expression.trimStart().length;
  return { from: start + opening.length + indent, length: expression.trim().length };
}

/** Text of a value as Python's `str()` gives it: `True`, `None`, `['a', 1]`, `{'b': False}`. */
export function pythonText(value: unknown): string {
  if (value === undefined || value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return numberText(value);
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (!(value instanceof Map)) return String(value);
  return `{${[...value].map(([key, item]) => `${pythonText(key)}: ${pythonText(item)}`).join(", ")}}`;
}

/** Python writes the exponent of a small number with two digits, and begins earlier. */
function numberText(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
const unprintable = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** In single quotes, or in double ones when that saves escapes. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(unprintable, (character) => escapes[character] ?? codeOf(character));
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

function codeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}
