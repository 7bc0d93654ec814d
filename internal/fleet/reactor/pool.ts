/** A pool of workers that processes work in order of arrival. */
export interface Pool {
  /** Runs `work` as soon as a worker is free; resolves and rejects with it. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Number of busy workers. */
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
        // The worker continues with the next waiter, if any. Otherwise it is free.
        const next = waiting.shift();
        if (next === undefined) busy--;
        else next();
      }
    },
  };
}
