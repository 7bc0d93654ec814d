/** Lets a number of workers do what there is to do, first come, first served. */
export interface Pool {
  /** Runs `work` as soon as a worker is free; resolves and rejects with it. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** How many work now. */
  readonly busy: number;
}

export function createPool(workers: number): Pool {
  const waiting: (() => void)[] = [];
  let busy = 0;
  return {
    get busy() {
      return busy;
    },
    async run(work) {
      if (busy >= workers) await new Promise<void>((resolve) => waiting.push(resolve));
      else busy++;
      try {
        return await work();
      } finally {
        // A worker goes on with who waits; otherwise it is free.
        const next = waiting.shift();
        if (next === undefined) busy--;
        else next();
      }
    },
  };
}
