import { Cron } from "croner";
import { defined } from "./defined.ts";
import { SvcError } from "./errors.ts";

/** A cron expression that was understood. */
export interface CronExpression {
  /**
   * The first instant after this one that the expression names, milliseconds since the Unix epoch;
   * `Infinity` when there is none any more.
   */
  next(afterMs: number): number;
}

/** Any instant does: without a field for years an expression that never comes again never came. */
const anInstant = Date.UTC(2026, 0, 1);

/**
 * Parses five fields (minute, hour, day of month, month, day of week), six with seconds in front, or one of
 * `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly` and their synonyms.
 *
 * Days of month and of week are alternatives when both are given, as in Vixie cron. Where clocks change,
 * times that are written out (`30 2 * * *`) run once: in the hour that is left out at its end, in the hour
 * that comes twice the first time. Expressions with `*` or a step in a time field follow the clock, and
 * skip the one hour and run through both of the other.
 *
 * @param timezone IANA name; absent means that of the host
 * @throws SvcError `bad_request` saying what is wrong with it, also when it names no instant at all
 */
export function parseCron(text: string, timezone?: string): CronExpression {
  const written = text.trim();
  const fields = written.split(/\s+/).length;
  if (fields !== 5 && fields !== 6 && !/^@[a-z]+$/.test(written)) {
    throw new SvcError("bad_request", 'expected a cron expression of five fields, such as "0 3 * * *"');
  }
  let cron: Cron;
  try {
    cron = new Cron(written, {
      paused: true,
      mode: "5-or-6-parts",
      fixedTimeRule: "no-wildcard",
      ...defined({ timezone }),
    });
  } catch (cause) {
    throw new SvcError("bad_request", `not a cron expression: ${reasonOf(cause)}`, { cause });
  }
  const next = (afterMs: number) => cron.nextRun(new Date(afterMs))?.getTime() ?? Number.POSITIVE_INFINITY;
  if (next(anInstant) === Number.POSITIVE_INFINITY) {
    throw new SvcError("bad_request", "the cron expression names a day that never comes");
  }
  return { next };
}

/** The parser's own words without its name. */
function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text
    .replace(/^CronPattern:\s*/, "")
    .replace(/\.$/, "")
    .slice(0, 120);
}
