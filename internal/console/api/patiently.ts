import { type Clock, sleep } from "../../base/clock.ts";

/** Masters take 20 requests a second of one address, which several consoles may share: the others wait. */
const pauseMs = 1_000;
const mostPauses = 60;
const tooMany = 429;

/**
 * Asks, and again after a second while masters have enough, for a minute at most.
 *
 * @param ask sends the request; it is called for each try
 * @param signsIn who signs in too often is told so at once
 */
export async function patiently(
  clock: Clock,
  ask: () => Promise<Response>,
  { signsIn, signal }: { signsIn: boolean; signal?: AbortSignal | undefined },
): Promise<Response> {
  for (let pauses = 0; ; pauses++) {
    const response = await ask();
    if (response.status !== tooMany || signsIn || pauses === mostPauses) return response;
    await sleep(clock, pauseMs, signal);
  }
}
