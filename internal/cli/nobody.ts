import { SvcError } from "../base/errors.ts";
import type { Bus } from "../bus/connection/mod.ts";
import { targetDoors } from "../fleet/targeting/doors.ts";
import type { Cli } from "../program/command-line/mod.ts";
import { hinted } from "./hints.ts";
import { request } from "./request.ts";

/** Asks for one peel. @throws SvcError `not_found` with the nearest name for one that is not in the fleet */
type Show = (id: string) => Promise<unknown>;

/** A target that means no peel. */
class NobodyMatches extends SvcError {
  constructor(message: string, cause?: unknown) {
    super("not_found", message, { cause });
  }
}

const nobody = "no peel matches the target";

/** Whether a target is the id of one peel. */
const isLiteral = (target: string) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(target);

/**
 * Refuses a target that was given and means no peel. In an empty fleet nothing is wrong with the target.
 *
 * @throws NobodyMatches with the nearest name where the target is one, or names a fact or label
 */
export function assertSomeone(bus: Bus, target: string, show: Show): Promise<void> {
  if (target === "*") return Promise.resolve();
  return withNearestPeel(bus, target, refuseTarget, show);
}

/** @throws SvcError `not_found` with where to look */
export function refuseTarget(): Promise<never> {
  return hinted(targetDoors.resolveTarget.hints.svc, async () => {
    throw new SvcError("not_found", nobody);
  });
}

/**
 * Adds to the refusal of a target what is wrong with it: the nearest name where the target is one, or the fact or
 * label that no peel has. The caller may not be allowed to see peels, and then learns no more than the refusal says.
 *
 * @param run throws `not_found` when the target means no peel
 * @throws SvcError what `run` throws; NobodyMatches in place of that refusal
 */
export async function withNearestPeel<T>(
  bus: Bus,
  target: string | undefined,
  run: () => Promise<T>,
  show?: Show,
): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.kind !== "not_found") throw thrown;
    if (!thrown.message.includes(nobody) || target === undefined) throw thrown;
    if (!isLiteral(target)) {
      const { unknownName } = await import("./ids/unknown-names.ts");
      const reason = await unknownName(bus, target);
      throw new NobodyMatches(reason === undefined ? thrown.message : `${nobody}: ${reason}`, thrown);
    }
    const shown = await (show ?? (await usualShow(bus)))(target).catch((refusal: unknown) => refusal);
    const isRefused = shown instanceof SvcError && shown.kind === "not_found";
    throw new NobodyMatches((isRefused ? shown : thrown).message, thrown);
  }
}

async function usualShow(bus: Bus): Promise<Show> {
  const { peelOperations } = await import("../fleet/peels/mod.ts");
  return (id) => request(bus, peelOperations.showPeel, { id }, { isHasty: true });
}

/**
 * Runs what starts something on peels. A program that reads the result gets a document also where no peel matches.
 *
 * @throws SvcError what `run` throws
 */
export async function printNobody<T>(cli: Cli, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    const isDocument = cli.output !== "table" && cli.output !== "csv";
    if (thrown instanceof NobodyMatches && isDocument) await cli.print({ error: thrown.message }, () => "");
    throw thrown;
  }
}
