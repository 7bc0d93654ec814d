import { beginningOf } from "../../base/cut.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isSecretName } from "../../base/names/secret-name.ts";
import { masked, maskWords } from "./mask-words.ts";

/** Characters: enough to tell one command from another. */
const maxText = 120;
/** A longer value is not walked through: masters keep this text of each job. */
const maxItems = 20;
/** Arguments whose whole value may be a secret, or have one. */
const secretArgument = /^(?:pass|stdin|env)$/i;

/**
 * The beginning of the arguments of a job, for people, on one line: `nginx -t`, or `name=nginx enable=true`. What looks
 * secret is masked: more operators may list jobs than may see what they were given.
 *
 * @returns `undefined` without arguments
 */
export function argsText(args: Readonly<Record<string, Plain>>): string | undefined {
  const given = Object.entries(args);
  const [first] = given;
  if (first === undefined) return undefined;
  const text =
    given.length === 1
      ? wordsOf(...first)
      : given
          .slice(0, maxItems)
          .map(([name, value]) => `${name}=${wordsOf(name, value)}`)
          .join(" ");
  return beginningOf(
    escapeInvisible(
      maskWords(
        beginningOf(text, 4 * maxText)
          .replaceAll(/\s+/g, " ")
          .trim(),
      ),
    ),
    maxText,
  );
}

/** A value under a secret name is one whatever it contains. */
const wordsOf = (name: string, value: Plain): string =>
  isSecretName(name) || secretArgument.test(name) ? masked : words(value);

function words(value: Plain): string {
  if (Array.isArray(value)) return value.slice(0, maxItems).map(words).join(",");
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value !== "object" || value === null) return beginningOf(String(value), 4 * maxText);
  return `{${Object.entries(value)
    .slice(0, maxItems)
    .map(([name, one]) => `${name}: ${wordsOf(name, one as Plain)}`)
    .join(", ")}}`;
}
