import type { Bucket } from "../../bus/bucket.ts";

const readAtOnce = 64;

/** Finds out who is alive from the heartbeats as they are stored, for those who do not follow them. */
export function readAlive(heartbeats: Bucket): (peels: readonly string[]) => Promise<ReadonlySet<string>> {
  return async (peels) => {
    const alive = new Set<string>();
    const queue = [...peels];
    const readNext = async () => {
      for (let peel = queue.pop(); peel !== undefined; peel = queue.pop()) {
        if ((await heartbeats.get(peel)) !== undefined) alive.add(peel);
      }
    };
    await Promise.all(Array.from({ length: Math.min(readAtOnce, queue.length) }, readNext));
    return alive;
  };
}
