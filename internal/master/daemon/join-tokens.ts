import { dirname, join, resolve } from "node:path";
import { describeError } from "../../base/errors.ts";
import type { WayIn } from "../../fleet/enrollment/joining/mod.ts";
import { liveStates } from "../../fleet/enrollment/record/mod.ts";
import { type Enrollments, readEntry } from "../../fleet/enrollment/store/mod.ts";
import {
  createJoinTokenView,
  createJoinTokenWay,
  createTakings,
  type JoinTokenDeps,
  pruneTokens,
  type UseResult,
} from "../../fleet/join-tokens/mod.ts";
import type { LacksForLabels } from "../../fleet/roles/mod.ts";
import { openEndedTokens } from "../../fleet/tokens/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Storage } from "../storage/mod.ts";
import type { MasterDeps } from "./options.ts";

const pruneEveryMs = 3_600_000;

/** The tokens that hosts join with, on a master. */
export interface MasterJoinTokens {
  way: WayIn;
  /** What their operations need; the doors add where the masters are and how they are known. */
  operations: Omit<JoinTokenDeps, "urls" | "pins" | "busUrl">;
  stop(): void;
}

export function startJoinTokens(
  deps: Pick<MasterDeps, "config" | "clock" | "random" | "jitter" | "log"> & {
    storage: Pick<Storage, "joinTokens" | "enrollments">;
    mac: RecordMac;
    lacks: LacksForLabels;
  },
): MasterJoinTokens {
  const { config, storage, mac, lacks, clock, random, jitter, log } = deps;
  const bucket = storage.joinTokens;
  // Next to the log of decisions, of which each master has its own as well.
  const path = join(dirname(resolve(config.decisions_log)), "ended-join-tokens.json");
  const ended = openEndedTokens({ path, clock, log });
  const view = createJoinTokenView({ bucket, mac, ended, clock, log });
  const takings = createTakings({
    ...{ bucket, view, mac, clock, jitter, log },
    resultOf: (id) => resultOf(storage.enrollments, id),
  });
  const pruning = clock.every(pruneEveryMs, () => {
    pruneTokens({ tokens: bucket, view, clock }).catch((thrown) =>
      log.debug("join tokens that have ended stay for now", { reason: describeError(thrown) }),
    );
  });
  return {
    way: createJoinTokenWay({ view, takings, mac, lacks, clock, log }),
    operations: { ...{ tokens: bucket, view, ended, mac, clock, random } },
    stop() {
      pruning.cancel();
      view.stop();
    },
  };
}

async function resultOf(enrollments: Enrollments, id: string): Promise<UseResult> {
  const entry = await enrollments.get(id);
  if (entry === undefined) return "none";
  const state = readEntry(enrollments, entry)?.record.state;
  if (state === "pending" || state === "rejected") return "none";
  // One that others changed was admitted once.
  return state !== undefined && liveStates.has(state) ? "live" : "over";
}
