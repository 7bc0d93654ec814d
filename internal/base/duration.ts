import { beginningOf, quote } from "./cut.ts";
import { SvcError } from "./errors.ts";

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The form of a duration, as the description of an interface says it; `0` is one as well. */
export const durationPattern = "^(?:\\d+(?:\\.\\d+)?(?:ms|s|m|h|d))+$";
const form = new RegExp(durationPattern);
const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/**
 * Parses `90s`, `5m`, `90d`, `1h30m` or `500ms` into milliseconds; a day has 24 hours. A bare number is refused, except `0`.
 *
 * @throws SvcError `bad_request` when the text is not a duration
 */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  if (!form.test(text)) {
    throw new SvcError(
      "bad_request",
      `${quote(text, 40)} is not a duration: write a number and a unit (ms, s, m, h, d), such as 90s or 1h30m`,
    );
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(part)) total += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  if (!Number.isSafeInteger(Math.round(total))) {
    throw new SvcError("bad_request", `the duration ${beginningOf(text, 40)} is too long`);
  }
  return Math.round(total);
}

const units = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;
const days = ["d", 86_400_000] as const;

/**
 * Formats milliseconds for files and for other programs, largest unit first: `5400000` is `1h30m`. Earlier versions
 * do not read days, so that it has none.
 */
export const formatDuration = (ms: number): string => formatIn(units, ms);

/** Formats milliseconds for people, who do not count hours beyond two days: `90d`, `2d12h`, `36h`. */
export const sayDuration = (ms: number): string => formatIn(ms < 2 * days[1] ? units : [days, ...units], ms);

function formatIn(units: readonly (readonly [unit: string, size: number])[], ms: number): string {
  if (ms === 0) return "0";
  let text = "";
  let rest = Math.round(ms);
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest %= size;
  }
  return text;
}
