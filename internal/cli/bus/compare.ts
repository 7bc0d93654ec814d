import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { decisionOperations } from "../../fleet/decisions/mod.ts";
import { masterOperations } from "../../fleet/masters/mod.ts";
import { NoMaster, request } from "../request.ts";

/** A master reads both buckets completely. */
const timeoutMs = 30_000;
const pauseMs = 2_000;
const attempts = 2;
/** Longer than the heartbeat of a master that has ended. */
const silentAttempts = 9;

const requestMaster = (bus: Bus, name: string) =>
  request(bus, decisionOperations.verifyDecisions, {}, { master: name, timeoutMs, isHasty: true });

/** What one master answered, or why it did not. */
type Compared = { master: string } & (
  | Awaited<ReturnType<typeof requestMaster>>
  | { error: string; isSilent?: true }
);

/**
 * Asks every master that has a heartbeat to compare its log with the bus, until the result is settled: a decision that
 * is being made may not have reached every log, and a master that ended is listed until its heartbeat expires.
 *
 * @throws NoMaster when no master says which there are
 */
export async function compareWithMasters(bus: Bus): Promise<Compared[]> {
  for (let attempt = 1; ; attempt++) {
    const results = await compareOnce(bus);
    const isEqual = results.every((one) => !("error" in one) && one.differing === 0);
    const isEnding = results.some((one) => "isSilent" in one);
    if (isEqual || attempt >= (isEnding ? silentAttempts : attempts)) return results;
    await sleep(bus.clock, pauseMs);
  }
}

async function compareOnce(bus: Bus): Promise<Compared[]> {
  const { masters } = await request(bus, masterOperations.listMasters, {}, { isHasty: true });
  return Promise.all(
    masters.map(async ({ name: master }): Promise<Compared> => {
      try {
        return { master, ...(await requestMaster(bus, master)) };
      } catch (cause) {
        if (!(cause instanceof NoMaster)) return { master, error: describeError(cause) };
        const error = "it does not answer: it has ended";
        return { master, error, isSilent: true };
      }
    }),
  );
}
