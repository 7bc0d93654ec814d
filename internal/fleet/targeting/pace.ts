import { SvcError } from "../../base/errors.ts";
import { type PeelMatcher, shownMatcher } from "../../tree/targets/mod.ts";

/** How long one target computes before everything else has a turn. */
const sliceMs = 10;
/** A target that took longer has cost much. */
const lightMs = 50;
/**
 * After a slice of a target that is not new, all such targets rest: for one slice, and for three when it has cost much. A
 * request of an operator needs some twenty turns; without rests each of them would wait for a slice.
 */
const restMs = { light: sliceMs, heavy: 3 * sliceMs };
const maxMs = 500;
/** How much work is done before the clock is read: reading it takes as long as a small test. */
const uncheckedUnits = 20_000;

/** Thrown by `Meter.spend` when it is the turn of something else. */
export class SliceEnded extends Error {}

/** What one target has spent. */
export interface Meter {
  /**
   * Counts what was done for a matcher.
   *
   * @throws SliceEnded when others have waited long enough
   * @throws SvcError `bad_request` when the target has spent everything
   */
  spend(matcher: PeelMatcher, units: number): void;
  /** Whether others have waited long enough. @throws SvcError like `spend` */
  isOver(): boolean;
}

/** What computes with a meter, and yields where it may be interrupted. */
export type Steps<T> = (meter: Meter) => Generator<void, T, void>;

/** Shares the processor among targets and everything else that the master does. */
export interface Pace {
  /** @throws SvcError `bad_request` when it costs too much */
  run<T>(steps: Steps<T>): Promise<T>;
}

/**
 * @param cpu processor time of this thread, milliseconds
 * @param turn resolves after everything that waits has had its turn
 * @param rest resolves after this time, milliseconds
 */
export function createPace({
  cpu = threadCpu,
  turn = nextTurn,
  rest = async () => {},
}: {
  cpu?: () => number;
  turn?: () => Promise<void>;
  rest?: (ms: number) => Promise<void>;
} = {}): Pace {
  const slices = createSlices(turn, rest);
  return {
    async run(steps) {
      const meter = createMeter(cpu);
      const computing = steps(meter);
      for (;;) {
        await slices.begin(meter.spent() === 0);
        try {
          meter.resume();
          for (;;) {
            const step = computing.next();
            if (step.done === true) return step.value;
            if (meter.isOver()) break;
          }
        } finally {
          meter.pause();
          slices.end(restAfter(meter.spent()));
        }
      }
    },
  };
}

function createMeter(cpu: () => number): Meter & { resume(): void; pause(): void; spent(): number } {
  let before = 0;
  let from = 0;
  let units = 0;
  let term: PeelMatcher | undefined;
  const isOver = () => {
    const now = cpu() - from;
    if (before + now > maxMs) throw costsTooMuch(term);
    return now > sliceMs;
  };
  return {
    isOver,
    spend(matcher, more) {
      term = matcher;
      units += more;
      if (units < uncheckedUnits) return;
      units = 0;
      if (isOver()) throw new SliceEnded();
    },
    resume() {
      from = cpu();
    },
    pause() {
      before += cpu() - from;
    },
    spent: () => before,
  };
}

function costsTooMuch(term: PeelMatcher | undefined): SvcError {
  const where = term === undefined ? "its terms" : `after ${shownMatcher(term)} it`;
  return new SvcError(
    "bad_request",
    `the target costs too much: ${where} took more than ${maxMs} ms of processor time; use fewer or simpler terms, a list or labels`,
  );
}

/** How long targets rest after a slice of one that has spent this, milliseconds. */
function restAfter(spent: number): number {
  if (spent <= sliceMs) return 0;
  return spent <= lightMs ? restMs.light : restMs.heavy;
}

/** One slice at a time, and a turn for everything else after each; new targets come first and do not wait for a rest. */
function createSlices(turn: () => Promise<void>, rest: (ms: number) => Promise<void>) {
  let isTaken = false;
  let resting = 0;
  const fresh: (() => void)[] = [];
  const begun: (() => void)[] = [];
  const beginNext = () => {
    if (isTaken) return;
    const next = fresh.shift() ?? (resting > 0 ? undefined : begun.shift());
    isTaken = next !== undefined;
    next?.();
  };
  return {
    begin(isFresh: boolean): Promise<void> {
      const turned = new Promise<void>((resolve) => (isFresh ? fresh : begun).push(resolve));
      beginNext();
      return turned;
    },
    end(restMs: number): void {
      if (restMs > 0) {
        resting++;
        void rest(restMs).then(() => {
          resting--;
          beginNext();
        });
      }
      void turn().then(() => {
        isTaken = false;
        beginNext();
      });
    },
  };
}

function threadCpu(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
