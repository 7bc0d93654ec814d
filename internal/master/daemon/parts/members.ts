import { abortable } from "../../../base/abortable.ts";
import { dropOldPending, repairOrphans } from "../../../fleet/enrollment/mod.ts";
import { createRevocations, createTakeOver } from "../../../fleet/enrollment/revocation/mod.ts";
import { createDirectory, signerOfDirect } from "../../../fleet/enrollment/store/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { adminRole } from "../../../wire/operator-standing.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import { catchUp, untilWhole } from "./catch-up.ts";
import type { SoundClock } from "./clock.ts";
import type { Decisions } from "./decisions.ts";
import type { Operators } from "./operators.ts";
import type { Opened } from "./storage.ts";

interface MembersNeed {
  base: MasterDeps;
  opened: Opened;
  clock: SoundClock;
  audit: Audited;
  operators: Operators;
  decisions: Decisions;
}

/** The records of enrollments, and the revocations that follow from them. */
export const members = {
  start: ({ base, opened, clock: { sound }, audit, operators, decisions }: MembersNeed) =>
    assemble(async (stack) => {
      const { config, clock, log, signal } = base;
      const { vouchers, directs } = opened;
      const { enrollments, revocations: bucket } = decisions.storage;
      const revocations = createRevocations({ bucket, log });
      stack.defer(() => revocations.stop());
      directs.judge = (record) => {
        const signer = signerOfDirect(record);
        if (signer === undefined) return false;
        const judged = operators.registry.judge(signer.operator, signer.key, clock.now());
        return "operator" in judged && judged.operator.roles.includes(adminRole);
      };
      const takeOver = createTakeOver({
        ...{ enrollments, revocations, vouchers, log },
        begin: ({ action, enrollment, peel, operator, key, digest }) =>
          audit.recorder.begin({
            ...{ operator, key, via: "direct", action, subjects: { enrollment, peel } },
            ...{ requestId: "", requestDigest: digest },
          }),
      });
      const directory = createDirectory({ enrollments, log, onDirect: takeOver.consider });
      stack.defer(() => directory.stop());
      await catchUp("enrollments", untilWhole(directory, base), base);
      // What was decided while no master ran takes effect before requests of peels and operators.
      await abortable(takeOver.settled(), signal);
      const repairing = repairOrphans({ enrollments, directory, clock, log });
      stack.defer(() => repairing.stop());
      const ttlMs = config["enroll.pending_ttl"];
      const mayPrune = () => sound.check().status !== "down";
      const dropping = dropOldPending({ enrollments, directory, ttlMs, mayPrune, clock, log });
      stack.defer(() => dropping.stop());
      return {
        directory,
        revocations,
        mayPrune,
        view: {
          enrollments: () => directory.countByState(),
          peelsSuspended: () => directory.countSuspended(),
          tampered: () => directory.countTampered(),
          credentials: () => directory.credentials(clock.now()),
        },
      };
    }),
};

export type Members = OffersOf<typeof members>;
