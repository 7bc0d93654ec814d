/**
 * What the promise comes to, or a rejection with the signal's reason as soon as that aborts.
 *
 * @param drop takes a value that comes after the signal aborted
 */
export function abortable<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  drop?: (late: Value) => void,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    promise
      .then((value) => {
        if (signal.aborted) drop?.(value);
        resolve(value);
      }, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
