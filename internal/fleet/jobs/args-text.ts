import { beginningOf } from "../../base/cut.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import { redact } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";

/** Characters: enough to tell one command from another. */
const maxText = 120;
/** A longer value is not walked through: masters keep this text of each job. */
const maxItems = 20;
/** Names of values that are secrets, or may be: a list goes to many readers, on screens and in tickets. */
const secretName = /pass|secret|token|credential|private|api_?key|^(?:stdin|env)$/i;

/**
 * The beginning of the arguments of a job, for people, on one line: `nginx -t`, or `name=nginx enable=true`. Values whose
 * name looks like that of a secret are hidden, and so is what looks like a key.
 *
 * @returns `undefined` without arguments
 */
export function argsText(args: Readonly<Record<string, Plain>>): string | undefined {
  const given = Object.entries(args);
  const [first] = given;
  if (first === undefined) return undefined;
  const text =
    given.length === 1
      ? shown(...first)
      : given
          .slice(0, maxItems)
          .map(([name, value]) => `${name}=${shown(name, value)}`)
          .join(" ");
  return beginningOf(
    escapeInvisible(
      beginningOf(redact(text), 4 * maxText)
        .replaceAll(/\s+/g, " ")
        .trim(),
    ),
    maxText,
  );
}

const shown = (name: string, value: Plain): string => (secretName.test(name) ? "***" : words(value));

function words(value: Plain): string {
  if (Array.isArray(value)) return value.slice(0, maxItems).map(words).join(",");
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value !== "object" || value === null) return beginningOf(String(value), 4 * maxText);
  return `{${Object.entries(value)
    .slice(0, maxItems)
    .map(([name, one]) => `${name}: ${shown(name, one as Plain)}`)
    .join(", ")}}`;
}
