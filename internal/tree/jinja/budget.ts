import { Fault } from "./values/mod.ts";

/** What one rendering may use. */
interface Limits {
  readonly steps: number;
  readonly made: number;
  readonly depth: number;
}

/** Some tenths of a second, and some tens of MiB. */
const usual: Limits = {
  /** Evaluated expressions and statements. */
  steps: 10_000_000,
  /** Characters and items of all values that were made. */
  made: 64 * 1024 * 1024,
  /** Macros, includes and imports within each other. */
  depth: 150,
};

/** Counts what a rendering uses, and ends it in time. */
export class Budget {
  private steps = 0;
  private made = 0;
  private depth = 0;
  private readonly limits: Limits;

  constructor(limits: Partial<Limits> = {}) {
    this.limits = { ...usual, ...limits };
  }

  /** Steps that were used so far. */
  get used(): number {
    return this.steps;
  }

  /** Another attempt: its values are new ones, while the steps of all attempts count together. */
  again(): void {
    this.made = 0;
    this.depth = 0;
  }

  /** @throws Fault */
  step(): void {
    if (++this.steps > this.limits.steps) {
      throw limit("the template exceeds the instruction limit: check for long loops");
    }
  }

  /**
   * To be called before something reads a value as a whole, which is one step for the template.
   *
   * @param size characters of a text, or items of a list
   * @throws Fault
   */
  work(size: number): void {
    this.steps += size / 4;
    this.step();
  }

  /**
   * To be called before a value is made.
   *
   * @param size characters of a text, or items of a list
   * @throws Fault
   */
  make(size: number): void {
    this.made += size;
    // Making takes time as well.
    this.steps += size / 64;
    if (!(this.made <= this.limits.made)) throw limit("the template exceeds the memory limit");
  }

  /** @throws Fault */
  within<T>(run: () => T): T {
    if (this.depth >= this.limits.depth) throw limit("recursion limit exceeded");
    this.depth++;
    try {
      return run();
    } finally {
      this.depth--;
    }
  }
}

function limit(reason: string): Fault {
  return new Fault(reason, { isFinal: true });
}
