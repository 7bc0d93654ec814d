/**
 * Lets concurrent calls share runs of the same work. A call gets the result of a run that began after it, never of
 * one in progress, which may have seen less than the caller.
 */
export function shareRuns<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const share = (): Promise<T> => {
    if (running === undefined) {
      running = run().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        next = undefined;
        return share();
      });
    return next;
  };
  return share;
}
