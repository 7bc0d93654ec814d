import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log, LogFields, LogLevel } from "../../base/log.ts";

const minuteMs = 60_000;
/** Causes of peels that are counted at a time; what is forgotten may log again. */
const maxCounted = 65_536;

/** Log lines that peels cause, limited by the minute for each cause and peel. */
export interface LogLines {
  say(level: LogLevel, event: string, peel: string, fields?: LogFields): void;
  stop(): void;
}

interface Counted {
  event: string;
  peel: string;
  level: LogLevel;
  lines: number;
  unsaid: number;
}

/**
 * Writes the first lines of each cause and peel, and then one line a minute that says how many more there
 * were.
 *
 * @param perMinute 0 means no limit
 */
export function createLogLines(perMinute: number, clock: Clock, log: Log): LogLines {
  let counted = createBoundedMap<Counted>(maxCounted);
  let silenced: Counted[] = [];
  const timer = clock.every(minuteMs, () => {
    const ended = silenced;
    silenced = [];
    counted = createBoundedMap(maxCounted);
    for (const { event, peel, level, unsaid } of ended) {
      log[level]("log lines of a peel left out", { peel_id: peel, line: event, lines: unsaid });
    }
  });
  return {
    say(level, event, peel, fields = {}) {
      const key = `${event} ${peel}`;
      const one = counted.get(key) ?? counted.set(key, { event, peel, level, lines: 0, unsaid: 0 });
      if (perMinute === 0 || one.lines < perMinute) {
        one.lines++;
        log[level](event, { peel_id: peel, ...fields });
        return;
      }
      if (one.unsaid === 0) silenced.push(one);
      one.unsaid++;
    },
    stop: () => timer.cancel(),
  };
}
