import { isOnDisk } from "../../../bus/assets/mod.ts";
import { followSamples, type MaintainDeps, maintainSamples } from "../../../fleet/samples/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Automation } from "./automation.ts";
import type { SoundClock } from "./clock.ts";
import type { Decisions } from "./decisions.ts";
import type { Jobs } from "./jobs.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Members } from "./members.ts";
import type { Opened } from "./storage.ts";

interface SamplesNeed {
  base: MasterDeps;
  opened: Opened;
  clock: SoundClock;
  decisions: Decisions;
  members: Members;
  knowledge: Knowledge;
  jobs: Jobs;
  automation: Automation;
}

/** How the fleet was over time: one master writes a sample each minute, and all of them show these. */
export const samples = {
  start: (need: SamplesNeed) =>
    assemble((stack) => {
      const { base, clock: found, decisions, jobs, automation } = need;
      const { clock, log } = base;
      const bucket = decisions.storage.samples;
      const view = followSamples({ bucket });
      stack.defer(() => view.stop());
      const busTime = () => clock.now() - (found.sound.aheadMs ?? 0);
      const maintaining = maintainSamples({
        ...{ view, bucket, isTurn: () => view.running && automation.isTurn() },
        ...{ busTime, levels: () => levelsOf(need), clock, log },
        async endedSince(revision) {
          const { ended, seen } = await jobs.operations.controller.endedSince(revision);
          const { completed, failed, cancelled } = ended;
          return {
            counts: { jobs_completed: completed, jobs_failed: failed, jobs_cancelled: cancelled },
            seen,
          };
        },
      });
      stack.defer(() => maintaining.stop());
      return { operations: { samples: view, busTime } };
    }),
};

export type Samples = OffersOf<typeof samples>;

/** From what the master counts for its metrics as well. */
function levelsOf({ opened, members, knowledge }: SamplesNeed): ReturnType<MaintainDeps["levels"]> {
  const { directory } = members;
  const alive = knowledge.counted.alive();
  const runs = knowledge.counted.runs();
  const { bytes, limits } = opened.measured();
  const onDisk = (sizes: Readonly<Record<string, number>>) => {
    const known = Object.entries(sizes).filter(([asset]) => isOnDisk(asset));
    return known.length === 0 ? null : known.reduce((sum, [, size]) => sum + size, 0);
  };
  return {
    alive: alive ?? null,
    silent: alive === undefined ? null : Math.max(0, directory.members().length - alive),
    pending: directory.countByState().pending,
    drifted: runs?.drifted ?? null,
    states_failed: runs?.failed ?? null,
    stored_bytes: onDisk(bytes),
    limit_bytes: onDisk(limits),
  };
}
