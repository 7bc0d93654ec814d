import { SvcError } from "../base/errors.ts";

/**
 * Runs requests about something that the bus stores.
 *
 * @param what it is about, for people: "the bucket jobs"
 * @throws SvcError as `run` does; `storage` for everything else
 */
export async function orStorageError<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("storage", `${what} is not available: is the bus up?`, { cause });
  }
}
