import { adminQueue, type Bucket, type Bus, type PeelAction, peelsSubject } from "../../bus/mod.ts";
import {
  countFacts,
  type FactsDeps,
  type FactsHistoryDeps,
  factsHistory,
  findFacts,
  getFacts,
  listPeels,
  mostPeels,
  type PeelsDeps,
  type SurveyDeps,
  showHeartbeat,
  showPeel,
  surveyPeels,
  surveyRoots,
} from "../peels/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: PeelAction) => ({ subject: peelsSubject(action), queue: adminQueue });
const page = { usual: 500, max: mostPeels };

export const peelsOverBus = {
  list: overBus({ operation: listPeels, ...at("list"), page }),
  show: overBus({ operation: showPeel, ...at("show") }),
  facts: overBus({ operation: getFacts, ...at("facts") }),
  findFacts: overBus({ operation: findFacts, ...at("find-facts"), page }),
  countFacts: overBus({ operation: countFacts, ...at("count-facts") }),
  factsHistory: overBus({ operation: factsHistory, ...at("facts-history") }),
  heartbeat: overBus({ operation: showHeartbeat, ...at("heartbeat") }),
  survey: overBus({ operation: surveyPeels, ...at("survey") }),
  roots: overBus({ operation: surveyRoots, ...at("roots") }),
};

/** Serves what the masters know of peels; a page that is too large for a message is cut. */
export function servePeels(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  deps: PeelsDeps &
    FactsDeps &
    SurveyDeps &
    Omit<FactsHistoryDeps, "answerBytes"> & { peelHeartbeats: Pick<Bucket, "get" | "entries"> },
): void {
  const limited = { ...deps, answerBytes: () => answerBytes(door.bus) };
  serve(door, peelsOverBus.list, limited);
  serve(door, peelsOverBus.show, deps);
  serve(door, peelsOverBus.facts, deps);
  serve(door, peelsOverBus.findFacts, limited);
  serve(door, peelsOverBus.countFacts, deps);
  serve(door, peelsOverBus.factsHistory, limited);
  serve(door, peelsOverBus.heartbeat, deps);
  serve(door, peelsOverBus.survey, deps);
  serve(door, peelsOverBus.roots, deps);
}
