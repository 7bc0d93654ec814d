import { adminQueue, type Bus, peelsSubject } from "../../bus/mod.ts";
import { type FactsDeps, getFacts, listPeels, mostPeels, type PeelsDeps, showPeel } from "../peels/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: "list" | "show" | "facts") => ({ subject: peelsSubject(action), queue: adminQueue });

export const peelsOverBus = {
  list: overBus({ operation: listPeels, ...at("list"), page: { usual: 500, most: mostPeels } }),
  show: overBus({ operation: showPeel, ...at("show") }),
  facts: overBus({ operation: getFacts, ...at("facts") }),
};

/** Serves what the masters know of peels; a page that is too large for a message is cut. */
export function servePeels(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  deps: PeelsDeps & FactsDeps,
): void {
  serve(door, peelsOverBus.list, { ...deps, answerBytes: () => answerBytes(door.bus) });
  serve(door, peelsOverBus.show, deps);
  serve(door, peelsOverBus.facts, deps);
}
