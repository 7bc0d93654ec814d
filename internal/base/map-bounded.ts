export interface MapBounds {
  /** How many items are in work at the same time. */
  atOnce: number;
  /** Begins nothing new once it aborts. */
  signal?: AbortSignal;
}

/**
 * Runs `run` on every item, at most `atOnce` at a time, begun in their order. The items are taken one by one as there
 * is room, so they may be made on the way.
 *
 * The first failure ends it: nothing new is begun, and what runs is stopped by its signal and awaited.
 *
 * @param run gets a signal that aborts when another item failed, or with the signal of `bounds`
 * @returns the results in the order of the items
 * @throws what failed first; the reason of the signal of `bounds` when that aborts before the end
 */
export async function mapBounded<T, R>(
  items: Iterable<T>,
  bounds: MapBounds,
  run: (item: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const failing = new AbortController();
  const signal =
    bounds.signal === undefined ? failing.signal : AbortSignal.any([bounds.signal, failing.signal]);
  const results: R[] = [];
  const rest = items[Symbol.iterator]();
  let begun = 0;
  let failure: { thrown: unknown } | undefined;
  const work = async () => {
    while (failure === undefined) {
      signal.throwIfAborted();
      const next = rest.next();
      if (next.done === true) return;
      const index = begun++;
      results[index] = await run(next.value, signal);
    }
  };
  const worker = () =>
    work().catch((thrown) => {
      failure ??= { thrown };
      failing.abort(thrown);
    });
  await Promise.all(Array.from({ length: bounds.atOnce }, worker));
  if (failure !== undefined) throw failure.thrown;
  return results;
}
