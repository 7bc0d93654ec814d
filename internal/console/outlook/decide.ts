import { type App, WaitsForApproval } from "../api/mod.ts";

/**
 * Decides something, and reports that it is done; or that it waits, where other operators must agree first.
 *
 * @param words.done `The job is cancelled`
 * @param words.waiting names it at the beginning of a sentence: `Cancelling the job`
 * @throws ApiError when the master refuses
 */
export async function decide(
  app: App,
  words: { done: string; waiting: string },
  act: () => Promise<unknown>,
): Promise<void> {
  try {
    await act();
    app.say(words.done);
  } catch (thrown) {
    if (!(thrown instanceof WaitsForApproval)) throw thrown;
    app.say(`${words.waiting} ${thrown.message}`);
  }
}
