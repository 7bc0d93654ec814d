import { memberStates } from "../../../fleet/enrollment/record/mod.ts";
import { followSilences } from "../../../fleet/peels/mod.ts";
import { followPresence, notifyOfCompliance } from "../../../fleet/reactor/events/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Members } from "./members.ts";
import type { PeelDoor } from "./peel-door.ts";

interface PresenceNeed {
  base: MasterDeps;
  connection: Connected;
  decisions: Decisions;
  members: Members;
  peelDoor: PeelDoor;
  knowledge: Knowledge;
}

/** Events that masters report themselves: peels that come, fall silent or drift. */
export const presence = {
  start: ({ base, connection: { bus }, decisions, members, peelDoor, knowledge }: PresenceNeed) =>
    assemble((stack) => {
      const { clock, jitter, log } = base;
      const { directory } = members;
      const { budgets, lines } = peelDoor;
      const { index, compliance } = knowledge;
      const drifts = notifyOfCompliance({
        ...{ bus, lines },
        admit: (peel, bytes, storedAt) => budgets.take(peel, "report-events", bytes, storedAt),
      });
      stack.defer(() => drifts.stop());
      const silences = followSilences({
        ...{ bucket: decisions.storage.presence, index, compliance },
        ...{ members: directory.members, clock, jitter, log },
      });
      stack.defer(() => silences.stop());
      const following = followPresence({
        ...{ bus, clock, log, index, members: directory.members },
        onCheck: silences.check,
        isMember: (peel) => memberStates.has(directory.stateOf(peel) ?? "pending"),
      });
      stack.defer(() => following.stop());
      return { silences };
    }),
};

export type Presence = OffersOf<typeof presence>;
