import { toSvcError } from "../base/errors.ts";
import { type Bus, inspectAssets, probeStorage } from "../bus/mod.ts";

const answerMs = 2_000;
/** All operators use the same key: one value is kept. */
export const probeKey = "svc";

/**
 * Why no heartbeat of a master may be stored although masters run: they end after 15 s where the storage of the bus
 * takes nothing more.
 *
 * @returns `undefined` when it works, or these credentials cannot tell
 */
export async function storageProblem(bus: Bus): Promise<string | undefined> {
  try {
    if ((await inspectAssets(bus, ["probe"])).get("probe") !== "there") return undefined;
    await probeStorage(bus, "probe", probeKey, answerMs);
    return undefined;
  } catch (thrown) {
    const { kind, message } = toSvcError(thrown);
    return kind === "unavailable" ? message : undefined;
  }
}
