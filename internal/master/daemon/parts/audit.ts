import { dirname, join, resolve } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { describeError } from "../../../base/errors.ts";
import { shareRuns } from "../../../base/share-runs.ts";
import {
  createAuditWriter,
  createRecorder,
  createRepeats,
  createVerification,
  createVersionFloors,
  followRevokedTokens,
  openAuditMemory,
} from "../../../fleet/audit/mod.ts";
import { openEndedTokens } from "../../../fleet/tokens/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import { createHeadTeller } from "../../../wire/audit-head.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import { untilDone } from "./until-done.ts";

/** How often a master checks what others wrote in the audit. */
const checkEveryMs = 5_000;

/** The record of every decision, and what masters remember from it. */
export const audit = {
  start: ({ base, connection: { bus } }: { base: MasterDeps; connection: Connected }) =>
    assemble(async (stack) => {
      const { config, name, keyring, clock, log, signal } = base;
      const keys = () => keyring.everyPublicKey;
      const audit = createAuditWriter({ bus, master: name, signer: keyring.signer, keys, clock, log });
      const path = `${resolve(config.decisions_log)}.versions`;
      const versionFloors = createVersionFloors({ bus, path, keys, log });
      // Next to the log of decisions, of which each master has its own as well.
      const endedPath = join(dirname(resolve(config.decisions_log)), "ended-tokens.json");
      const endedTokens = openEndedTokens({ path: endedPath, clock, log });
      const readRevokedTokens = followRevokedTokens({ bus, keys, take: endedTokens.add });
      const retentionMs = config["audit.retention"];
      const memory = openAuditMemory({
        ...{ bus, path: `${resolve(config.decisions_log)}.audit`, keys, retentionMs, clock, log },
        head: () => audit.head,
      });
      /** One read of the ends of the audit serves all followers. */
      const check = async () => {
        const known = audit.head;
        const ends = await memory.refresh();
        await Promise.all([audit.refresh(ends, known), versionFloors.refresh(ends), readRevokedTokens(ends)]);
      };
      const refresh = shareRuns(check);
      await abortable(untilDone(refresh, base), signal);
      const checking = clock.every(checkEveryMs, () => {
        refresh().catch((thrown) => log.debug("the audit cannot be read", { reason: describeError(thrown) }));
      });
      stack.defer(() => checking.cancel());
      const verification = createVerification({ bus, keys, memory, clock });
      const repeats = createRepeats({ bus, keys, clock });
      const recorder = createRecorder({ audit, repeats, clock, log });
      stack.defer(() => recorder.stop());
      return {
        audit,
        recorder,
        versionFloors,
        endedTokens,
        auditHead: createHeadTeller(audit, keyring.signer),
        auditDeps: { bus, keys, retentionMs, memory, verification, clock },
      };
    }),
};

export type Audited = OffersOf<typeof audit>;
