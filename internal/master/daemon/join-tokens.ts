import { dirname, join, resolve } from "node:path";
import { describeError } from "../../base/errors.ts";
import { type Enrollments, readEntry, type WayIn } from "../../fleet/enrollment/mod.ts";
import {
  createJoinTokenView,
  createJoinTokenWay,
  createTakings,
  type JoinTokenDeps,
  pruneTokens,
} from "../../fleet/join-tokens/mod.ts";
import { openEndedTokens } from "../../fleet/tokens/mod.ts";
import type { MasterDeps } from "./options.ts";
import type { Stored } from "./parts/storage.ts";

const pruneEveryMs = 3_600_000;

/** The tokens that hosts join with, on a master. */
export interface MasterJoinTokens {
  way: WayIn;
  /** What their operations need; the doors add where the masters are and how they are known. */
  operations: Omit<JoinTokenDeps, "urls" | "pins">;
  stop(): void;
}

export function startJoinTokens(deps: MasterDeps & Stored): MasterJoinTokens {
  const { config, storage, recordMac: mac, clock, random, jitter, log } = deps;
  const bucket = storage.joinTokens;
  // Next to the log of decisions, of which each master has its own as well.
  const path = join(dirname(resolve(config.decisions_log)), "ended-join-tokens.json");
  const ended = openEndedTokens({ path, clock, log });
  const view = createJoinTokenView({ bucket, mac, ended, clock, log });
  const takings = createTakings({
    ...{ bucket, view, mac, clock, jitter, log },
    wasAdmitted: (id) => wasAdmitted(storage.enrollments, id),
  });
  const pruning = clock.every(pruneEveryMs, () => {
    pruneTokens({ tokens: bucket, view, clock }).catch((thrown) =>
      log.debug("join tokens that have ended stay for now", { reason: describeError(thrown) }),
    );
  });
  return {
    way: createJoinTokenWay({ view, takings, mac, clock, log }),
    operations: { ...{ tokens: bucket, view, ended, mac, clock, random } },
    stop() {
      pruning.cancel();
      view.stop();
    },
  };
}

/** Whether an enrollment exists and was admitted. One that others changed counts: it was admitted once. */
async function wasAdmitted(enrollments: Enrollments, id: string): Promise<boolean> {
  const entry = await enrollments.get(id);
  if (entry === undefined) return false;
  const state = readEntry(enrollments, entry)?.record.state;
  return state !== "pending" && state !== "rejected";
}
