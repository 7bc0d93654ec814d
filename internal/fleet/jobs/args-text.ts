import { beginningOf } from "../../base/cut.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import type { Plain } from "../../base/msgpack.ts";

/** Characters: enough to tell one command from another. */
const maxText = 120;
/** A longer value is not walked through: masters keep this text of each job. */
const maxItems = 20;

/**
 * The beginning of the arguments of a job, for people, on one line: `nginx -t`, or `name=nginx enable=true`.
 *
 * @returns `undefined` without arguments
 */
export function argsText(args: Readonly<Record<string, Plain>>): string | undefined {
  const given = Object.entries(args);
  const [first] = given;
  if (first === undefined) return undefined;
  const text =
    given.length === 1
      ? words(first[1])
      : given
          .slice(0, maxItems)
          .map(([name, value]) => `${name}=${words(value)}`)
          .join(" ");
  return beginningOf(
    escapeInvisible(
      beginningOf(text, 4 * maxText)
        .replaceAll(/\s+/g, " ")
        .trim(),
    ),
    maxText,
  );
}

function words(value: Plain): string {
  if (Array.isArray(value)) return value.slice(0, maxItems).map(words).join(",");
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value !== "object" || value === null) return beginningOf(String(value), 4 * maxText);
  return `{${Object.entries(value)
    .slice(0, maxItems)
    .map(([name, one]) => `${name}: ${words(one as Plain)}`)
    .join(", ")}}`;
}
