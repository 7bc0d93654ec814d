import { Cron } from "croner";
import { beginningOf } from "./cut.ts";
import { defined } from "./defined.ts";
import { SvcError } from "./errors.ts";

/** A parsed cron expression. */
export interface CronExpression {
  /**
   * The first instant after this one that the expression matches, in milliseconds since the Unix epoch.
   * `Infinity` when there are no more.
   */
  next(afterMs: number): number;
}

/** Any instant works: without a year field, an expression that has no next match never had one. */
const anInstant = Date.UTC(2026, 0, 1);

/**
 * Parses five fields (minute, hour, day of month, month, day of week), six with seconds in front, or one of
 * `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly` and their synonyms.
 *
 * Days of month and of week are alternatives when both are given, as in Vixie cron. Where clocks change,
 * fixed times (`30 2 * * *`) run once: at the end of the skipped hour, and in the first pass of the
 * repeated hour. Expressions with `*` or a step in a time field follow the clock: they skip the skipped
 * hour, and run in both passes of the repeated hour.
 *
 * @param timezone IANA name; absent means that of the host
 * @throws SvcError `bad_request` with the reason, also when the expression matches no instant
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
    throw new SvcError("bad_request", "the cron expression names a date that never occurs");
  }
  return { next };
}

/** The parser's message without the name of the parser. */
function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return beginningOf(text.replace(/^CronPattern:\s*/, "").replace(/\.$/, ""), 120);
}
