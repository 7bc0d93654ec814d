import type { Plain } from "../../../base/msgpack.ts";
import { type Event, eventPath, valueAt } from "../events/mod.ts";

/** Start of a placeholder. */
export const opening = "${";
const form = /\$?\$\{([^{}]*)\}/g;

/** The event does not have the value of a placeholder, or the value is not allowed there. */
export class Unrendered extends Error {}

/** The placeholders of a text, such as `source` or `data.percent`. */
export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(form)].flatMap(([whole, path = ""]) => (whole.startsWith("$$") ? [] : [path]));
}

/** Whether a text is one placeholder and nothing else. */
export function isPlaceholder(text: string): boolean {
  const [only] = text.matchAll(form);
  return only?.[0].length === text.length && !text.startsWith("$$");
}

/** What is wrong with the placeholders of a text, or `undefined`. */
export function placeholderProblem(text: string): string | undefined {
  const bad = placeholdersOf(text).find((path) => !eventPath.test(path));
  if (bad !== undefined) {
    return `\${${bad.slice(0, 60)}} is not a field of an event: write \${source}, \${tag}, \${id}, \${depth} or \${data.name}, or $\${...} for the literal characters`;
  }
  if (!text.replace(form, "").includes(opening)) return undefined;
  return `a placeholder is not closed: write ${opening}data.name}`;
}

/**
 * Replaces the placeholders of a value in a single pass: event data is never expanded again. A text that is
 * one placeholder becomes the value itself, of any type. Inside longer text, only strings, numbers and
 * booleans are allowed. Map keys are not changed.
 *
 * @throws Unrendered naming the placeholder
 */
export function fill(value: Plain, event: Event): Plain {
  if (typeof value === "string") return fillText(value, event);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item) => fill(item, event));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, event)]));
}

function fillText(text: string, event: Event): Plain {
  if (!text.includes(opening)) return text;
  if (isPlaceholder(text)) return neededValue(placeholdersOf(text)[0] ?? "", event);
  return text.replace(form, (whole, path: string) => {
    if (whole.startsWith("$$")) return whole.slice(1);
    const value = neededValue(path, event);
    if (typeof value === "object") throw new Unrendered(`${path} is not a string, number or boolean`);
    return String(value);
  });
}

function neededValue(path: string, event: Event): Plain {
  const value = valueAt(event, path);
  if (value === undefined) throw new Unrendered(`${path} is not in the event`);
  return value;
}
