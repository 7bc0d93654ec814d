import { SvcError } from "../base/errors.ts";
import type { Bus } from "../bus/connection/mod.ts";
import { targetDoors } from "../fleet/targeting/doors.ts";
import { hinted } from "./hints.ts";
import { request } from "./request.ts";

/** Asks for one peel. @throws SvcError `not_found` with the nearest name for one that is not in the fleet */
type Show = (id: string) => Promise<unknown>;

/** Whether a target is the id of one peel. */
const isLiteral = (target: string) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(target);

/**
 * Refuses a target that was given and means no peel. In an empty fleet nothing is wrong with the target.
 *
 * @throws SvcError `not_found`, with the nearest name where the target is one
 */
export async function assertSomeone(target: string, show: Show): Promise<void> {
  if (target === "*") return;
  if (isLiteral(target)) await show(target);
  await refuseTarget();
}

/** @throws SvcError `not_found` with where to look */
export function refuseTarget(): Promise<never> {
  return hinted(targetDoors.resolveTarget.hints.svc, async () => {
    throw new SvcError("not_found", "no peel matches the target");
  });
}

/**
 * Adds the nearest name to the refusal of a target that is one. The caller may not be allowed to see peels, and then
 * learns no more than the refusal says.
 *
 * @param run throws `not_found` when the target means no peel
 * @throws SvcError what `run` throws
 */
export async function withNearestPeel<T>(
  bus: Bus,
  target: string | undefined,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    const isNobody = thrown instanceof SvcError && thrown.kind === "not_found";
    if (!isNobody || target === undefined || !isLiteral(target)) throw thrown;
    const { peelOperations } = await import("../fleet/peels/mod.ts");
    const shown: unknown = await request(
      bus,
      peelOperations.showPeel,
      { id: target },
      { isHasty: true },
    ).catch((refusal) => refusal);
    throw shown instanceof SvcError && shown.kind === "not_found" ? shown : thrown;
  }
}
