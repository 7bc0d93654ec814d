import { escapeInvisible } from "../../base/invisible.ts";
import { refused } from "./refused.ts";

/** The longest text of a field, in characters. */
const maxLength = 512;
const maxTexts = 64;

/**
 * A text of evidence as the record stores it. It is never cut: a part of a name would be another name.
 *
 * @throws SvcError `unauthorized` for one that is too long
 */
export function shownText(text: string, what: string): string {
  const shown = escapeInvisible(text);
  if (shown.length > maxLength) throw refused(`${what} has more than ${maxLength} characters`);
  return shown;
}

/** Several texts; `undefined` for none. @throws SvcError `unauthorized` for too many, or too long ones */
export function shownTexts(texts: readonly string[], what: string): string[] | undefined {
  if (texts.length > maxTexts) throw refused(`more than ${maxTexts} of ${what}`);
  return texts.length === 0 ? undefined : texts.map((text) => shownText(text, what));
}
