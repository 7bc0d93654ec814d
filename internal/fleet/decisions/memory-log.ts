import type { Clock } from "../../base/clock.ts";
import { type Decision, nameOf } from "./decision.ts";
import type { DecisionLog } from "./log.ts";

/**
 * A log without a file, for a master whose data directory cannot be used. It protects decisions while the master
 * runs, and its `failure` reports why not for longer.
 */
export function createMemoryLog(failure: string, clock: Clock): DecisionLog {
  const known = new Map<string, Decision & { value: Uint8Array }>();
  return {
    known: () => known.values(),
    get: (record) => known.get(nameOf(record)),
    get size() {
      return known.size;
    },
    written: 0,
    async store({ bucket, key, value }) {
      if (value === undefined) known.delete(nameOf({ bucket, key }));
      else known.set(nameOf({ bucket, key }), { at: clock.now(), bucket, key, value: new Uint8Array(value) });
    },
    async flush() {},
    failure,
    close() {},
  };
}
