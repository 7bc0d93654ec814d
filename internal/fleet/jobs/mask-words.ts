import { redact } from "../../base/log.ts";
import { isSecretName } from "../../base/names/secret-name.ts";

/** In place of what looks secret. */
export const masked = "***";

const quoted = `"[^"]*"|'[^']*'`;
/** What names a value, up to the value, with the form of the value. */
const places: readonly (readonly [head: RegExp, value: RegExp])[] = [
  // `PASSWORD=x`, `password: x`
  [/([A-Za-z_][\w.-]*)(?:=|["']?:\s+)/g, new RegExp(`${quoted}|[^\\s;&|]+`, "y")],
  // `--token x`
  [/(?<![\w-])--?([A-Za-z][\w.-]*)\s+(?!-)/g, new RegExp(`${quoted}|[^\\s;&|]+`, "y")],
  // `--token,x` in a list of words
  [/(?<![\w-])--?([A-Za-z][\w.-]*),(?!-)/g, /[^\s;&|,]+/y],
];
const passwordInUrl = /(:\/\/[^/\s:@]*:)[^/\s@]+(?=@)/g;
const authorization = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----.*/gs;

/**
 * Masks what looks secret in the words of a command, by its name or by its form. More operators may list jobs than may
 * see what they were given.
 */
export function maskWords(text: string): string {
  const formless = redact(text)
    .replace(privateKey, masked)
    .replace(passwordInUrl, `$1${masked}`)
    .replace(authorization, `$1 ${masked}`);
  return places.reduce(maskNamed, formless);
}

function maskNamed(text: string, [head, value]: readonly [RegExp, RegExp]): string {
  let shown = "";
  let at = 0;
  for (const found of text.matchAll(head)) {
    const end = found.index + found[0].length;
    value.lastIndex = end;
    if (
      found.index < at ||
      text.startsWith(masked, end) ||
      !isSecretName(found[1] ?? "") ||
      !value.test(text)
    )
      continue;
    shown += text.slice(at, end) + masked;
    at = value.lastIndex;
  }
  return shown + text.slice(at);
}
