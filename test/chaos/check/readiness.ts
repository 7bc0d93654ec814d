import { type Call, type Check, callsOf, type Entry, type Readiness, type Violation } from "../history.ts";

const invariant = "readiness true";
/** A master may notice this late. */
const noticedWithinMs = 10_000;
/** A master may still say for so long that it is down. */
const healedWithinMs = 20_000;
const enough = 3;

/** A master that fails every write says that it is not ready, and one whose writes work says that it is. */
export const checkReadiness: Check = (history) => {
  const writes = callsOf(history, "dispatch", "rollout").filter((call) => call.door === "rest");
  const masters = new Set(writes.map(({ master }) => master));
  return [...masters].flatMap((master) => {
    const samples = history.filter(
      (entry: Entry): entry is Readiness => entry.kind === "ready" && entry.master === master,
    );
    const own = writes.filter((write) => write.master === master).sort((a, b) => a.ended - b.ended);
    return [...readyAndBroken(own, samples), ...downAndWorking(own, samples)];
  });
};

const isBroken = ({ status }: Call) => status === 0 || status >= 500;

/**
 * Stretches of failed writes, in which all answers of `/readyz` were 200. Writes are in the order of their answers,
 * and one that works ends a stretch: a write that was asked for earlier may still wait then, and fail in its time.
 */
function readyAndBroken(writes: readonly Call[], samples: readonly Readiness[]): Violation[] {
  return stretches(writes, isBroken).flatMap((stretch) => {
    const last = stretch.at(-1);
    if (last === undefined || stretch.length < enough) return [];
    const earlier = writes.slice(0, writes.indexOf(last)).findLast((write) => !isBroken(write));
    const at = Math.max(Math.min(...stretch.map((write) => write.at)), earlier?.ended ?? 0);
    const within = samples.filter((sample) => sample.at >= at + noticedWithinMs && sample.at <= last.ended);
    if (within.length < enough || within.some(({ status }) => status !== 200)) return [];
    const seconds = Math.round((last.ended - at) / 1000);
    const text = `${last.master} said that it was ready for ${seconds} s in which ${stretch.length} writes failed`;
    return [{ invariant, at, text }];
  });
}

/** Stretches in which `/readyz` answered something else than 200, after the last write that failed in them. */
function downAndWorking(writes: readonly Call[], samples: readonly Readiness[]): Violation[] {
  return stretches(samples, ({ status }) => status >= 500).flatMap((stretch) => {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (first === undefined || last === undefined) return [];
    const broken = writes.findLast((write) => isBroken(write) && write.ended <= last.at);
    const at = Math.max(first.at, broken?.ended ?? 0);
    const within = writes.filter((write) => write.at >= at && write.ended <= last.at);
    if (last.at - at < healedWithinMs || within.length < enough) return [];
    const seconds = Math.round((last.at - at) / 1000);
    const text = `${first.master} said that it was down for ${seconds} s in which ${within.length} writes worked`;
    return [{ invariant, at, text }];
  });
}

/** The longest runs of neighbors that all match. */
function stretches<T>(list: readonly T[], matches: (each: T) => boolean): T[][] {
  const found: T[][] = [[]];
  for (const each of list) {
    if (matches(each)) found.at(-1)?.push(each);
    else if (found.at(-1)?.length !== 0) found.push([]);
  }
  return found.filter(({ length }) => length > 0);
}
