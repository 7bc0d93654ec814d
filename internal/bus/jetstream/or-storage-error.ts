import { ErrorCode, NatsError } from "nats";
import { SvcError } from "../../base/errors.ts";
import { isLeaderless, JetStreamError } from "./request.ts";

/**
 * Runs requests about something that the bus stores.
 *
 * @param what it is about, for people: "the bucket jobs"
 * @throws SvcError as `run` does; `storage` for everything else
 */
export async function orStorageError<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    throw storageError(what, thrown);
  }
}

/** A failed request about something that the bus stores, with the reason and the next step. */
export function storageError(what: string, thrown: unknown): SvcError {
  return new SvcError("storage", `${what} ${problemOf(thrown)}`, { cause: thrown });
}

/** What servers say when there is no room, in the words of all versions. */
const noRoom = /insufficient|maximum (?:bytes|messages)|no space/i;
const nextStep = "check the bus with svc doctor";

function problemOf(thrown: unknown): string {
  if (thrown instanceof JetStreamError && noRoom.test(thrown.message)) {
    return `refuses to store more (${thrown.message}): make room on the disk of the bus, or raise max_file_store of its server`;
  }
  return `is not available (${reasonOf(thrown)}): ${nextStep}`;
}

function reasonOf(thrown: unknown): string {
  if (isLeaderless(thrown)) return "most servers of the bus are away, or elect a leader";
  if (thrown instanceof JetStreamError) return `the bus answers: ${thrown.message}`;
  if (!(thrown instanceof NatsError)) return "the bus does not answer as it should";
  if (thrown.code === ErrorCode.NoResponders) return "no server of the bus has it";
  if (thrown.code === ErrorCode.Timeout) return "the bus does not answer in time";
  return "the bus does not answer";
}
