import { beginningOf, quote } from "./cut.ts";
import { SvcError } from "./errors.ts";

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** The form of a duration, as the description of an interface says it; `0` is one as well. */
export const durationPattern = "^(?:\\d+(?:\\.\\d+)?(?:ms|s|m|h))+$";
const form = new RegExp(durationPattern);
const part = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/**
 * Parses `90s`, `5m`, `2160h`, `1h30m` or `500ms` into milliseconds. A bare number is refused, except `0`.
 *
 * @throws SvcError `bad_request` when the text is not a duration
 */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  if (!form.test(text)) {
    throw new SvcError(
      "bad_request",
      `${quote(text, 40)} is not a duration: write a number and a unit (ms, s, m, h), such as 90s or 1h30m`,
    );
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(part)) total += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  if (!Number.isSafeInteger(Math.round(total))) {
    throw new SvcError("bad_request", `the duration ${beginningOf(text, 40)} is too long`);
  }
  return Math.round(total);
}

/** Formats milliseconds in the same notation, largest unit first: `5400000` is `1h30m`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0";
  let text = "";
  let rest = Math.round(ms);
  for (const [unit, size] of [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
    ["ms", 1],
  ] as const) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest %= size;
  }
  return text;
}
