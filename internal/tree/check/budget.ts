/** What a check needs of its surroundings: it is long, and others want a turn as well. */
export interface Turns {
  /** Lets others have a turn. */
  pause(): Promise<void>;
  /** Milliseconds; only differences mean anything. */
  now(): number;
  /** Steps of all files together; enough for any real tree unless given. */
  maxWork?: number;
}

/** Steps of templates, and characters: about half a minute. */
const maxWork = 1_000_000_000;
const turnMs = 10;

/** How much one check may take. */
export interface Allowance {
  /** Whether there is more left. */
  readonly isLeft: boolean;
  /** The file that took the most. */
  readonly worst: string;
  /** Counts the work of a file, also when it is remembered: checks of equal files end alike. */
  count(file: string, work: number): void;
  /** Lets others have a turn, when it is time. */
  turn(): Promise<void>;
}

export function createAllowance({ pause, now, maxWork: max = maxWork }: Turns): Allowance {
  let used = 0;
  let worst = { file: "", work: 0 };
  let since = now();
  return {
    get isLeft() {
      return used <= max;
    },
    get worst() {
      return worst.file;
    },
    count(file, work) {
      used += work;
      if (work > worst.work) worst = { file, work };
    },
    async turn() {
      if (now() - since < turnMs) return;
      await pause();
      since = now();
    },
  };
}
