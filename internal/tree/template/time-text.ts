import { quote } from "../../base/cut.ts";
import { textOf } from "../jinja/mod.ts";
import { Fault, isNumber, toNumber, type Value } from "../jinja/values/mod.ts";

/** What a clock on a wall shows; the fields of its UTC are those of the time. */
export type WallTime = Date & { readonly kind?: "wall" };

const written =
  /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?)?$/;

/**
 * The time that a value means, on the clock of this host: seconds since 1970, or a date.
 *
 * @param name of the filter, for messages
 * @throws Fault also for nothing, which is the present in Salt: what a template makes must not depend on when it is read
 */
export function timeIn(value: Value, name: string): WallTime {
  const text = typeof value === "string" ? value.trim() : "";
  const [, ...parts] = written.exec(text) ?? [];
  if (parts.length > 0) {
    const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map((part) =>
      Number(part ?? 0),
    );
    const time = new Date(
      Date.UTC(year, month - 1, day, hour, minute, second, Number((parts[6] ?? "").padEnd(3, "0"))),
    );
    // A date such as 2026-02-31 would be another one.
    if (
      time.getUTCDate() === day &&
      time.getUTCMonth() === month - 1 &&
      hour < 24 &&
      minute < 60 &&
      second < 60
    ) {
      return time;
    }
  } else if (isNumber(value) || /^\d+(?:\.\d+)?$/.test(text)) {
    const local = new Date((isNumber(value) ? toNumber(value) : Number(text)) * 1000);
    const shift = local.getTimezoneOffset() * 60_000;
    if (!Number.isNaN(local.getTime())) return new Date(local.getTime() - shift);
  } else if (value === null) {
    throw new Fault(`${name}: a template has no clock: give it seconds since 1970, or a date`);
  }
  throw new Fault(
    `${name}: expected seconds since 1970 or a date such as 2026-12-31 10:00, not ${quote(textOf(value), 40)}`,
  );
}

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];
const dayMs = 86_400_000;

/** Writes a time as `strftime` of Python does in the locale C. @throws Fault for a letter that it does not have */
export function formatTime(time: WallTime, format: string): string {
  return format.replaceAll(/%(.?)/gs, (_, letter: string) => {
    const made = part(time, letter);
    if (made !== undefined) return made;
    throw new Fault(`%${letter} is not a part of a time`);
  });
}

const padded = (number: number, width = 2, fill = "0"): string => String(number).padStart(width, fill);

function part(time: WallTime, letter: string): string | undefined {
  const [weekday, month] = [time.getUTCDay(), time.getUTCMonth()];
  const [year, date, hour] = [time.getUTCFullYear(), time.getUTCDate(), time.getUTCHours()];
  const dayOfYear = Math.floor((Date.UTC(year, month, date) - Date.UTC(year, 0, 1)) / dayMs);
  const [iso, isoWeek] = isoYear(year, month, date);
  const parts: Readonly<Record<string, () => string>> = {
    a: () => (days[weekday] ?? "").slice(0, 3),
    A: () => days[weekday] ?? "",
    b: () => (months[month] ?? "").slice(0, 3),
    h: () => (months[month] ?? "").slice(0, 3),
    B: () => months[month] ?? "",
    c: () => formatTime(time, "%a %b %e %H:%M:%S %Y"),
    C: () => padded(Math.floor(year / 100)),
    d: () => padded(date),
    D: () => formatTime(time, "%m/%d/%y"),
    e: () => padded(date, 2, " "),
    f: () => padded(time.getUTCMilliseconds() * 1000, 6),
    F: () => formatTime(time, "%Y-%m-%d"),
    G: () => String(iso),
    H: () => padded(hour),
    I: () => padded(hour % 12 === 0 ? 12 : hour % 12),
    j: () => padded(dayOfYear + 1, 3),
    m: () => padded(month + 1),
    M: () => padded(time.getUTCMinutes()),
    n: () => "\n",
    p: () => (hour < 12 ? "AM" : "PM"),
    R: () => formatTime(time, "%H:%M"),
    S: () => padded(time.getUTCSeconds()),
    t: () => "\t",
    T: () => formatTime(time, "%H:%M:%S"),
    u: () => String(weekday === 0 ? 7 : weekday),
    U: () => padded(Math.floor((dayOfYear + 7 - weekday) / 7)),
    V: () => padded(isoWeek),
    w: () => String(weekday),
    W: () => padded(Math.floor((dayOfYear + 7 - ((weekday + 6) % 7)) / 7)),
    x: () => formatTime(time, "%m/%d/%y"),
    X: () => formatTime(time, "%H:%M:%S"),
    y: () => padded(year % 100),
    Y: () => String(year),
    z: () => "",
    Z: () => "",
    "%": () => "%",
  };
  return Object.hasOwn(parts, letter) ? parts[letter]?.() : undefined;
}

/** The year and the week of ISO 8601: those of the Thursday of the week. */
function isoYear(year: number, month: number, date: number): [year: number, week: number] {
  const thursday = new Date(Date.UTC(year, month, date));
  thursday.setUTCDate(date + 4 - (thursday.getUTCDay() || 7));
  const of = thursday.getUTCFullYear();
  return [of, Math.ceil(((thursday.getTime() - Date.UTC(of, 0, 1)) / dayMs + 1) / 7)];
}
