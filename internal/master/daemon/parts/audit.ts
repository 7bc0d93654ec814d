import { resolve } from "node:path";
import { abortable } from "../../../base/abortable.ts";
import { describeError } from "../../../base/errors.ts";
import {
  createAuditWriter,
  createHeadTeller,
  createRecorder,
  createVersionFloors,
  openAuditMemory,
} from "../../../fleet/audit/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";
import { untilDone } from "./until-done.ts";

/** How often a master looks for what others wrote in the audit. */
const lookEveryMs = 5_000;

/** The record of every decision, and what masters remember from it. */
export const audit = {
  start: (deps: MasterDeps & Connected) =>
    assemble(async (stack) => {
      const { config, bus, name, keyring, clock, log, signal } = deps;
      const keys = () => keyring.everyPublicKey;
      const audit = createAuditWriter({ bus, master: name, signer: keyring.signer, keys, clock, log });
      const path = `${resolve(config.decisions_log)}.versions`;
      const versionFloors = createVersionFloors({ bus, path, keys, log });
      const retentionMs = config["audit.retention"];
      const memory = openAuditMemory({
        ...{ bus, path: `${resolve(config.decisions_log)}.audit`, keys, retentionMs, clock, log },
        head: () => audit.head,
      });
      const refresh = async () => {
        await Promise.all([audit.refresh(), versionFloors.refresh()]);
        await memory.refresh();
      };
      await abortable(untilDone(refresh, deps), signal);
      const looking = clock.every(lookEveryMs, () => {
        refresh().catch((thrown) => log.debug("the audit cannot be read", { reason: describeError(thrown) }));
      });
      stack.defer(() => looking.cancel());
      const recorder = createRecorder({ audit, clock, log });
      stack.defer(() => recorder.stop());
      return {
        audit,
        recorder,
        versionFloors,
        auditHead: createHeadTeller(audit, keyring.signer),
        checks: {
          audit: () => {
            // It decides on: what it remembers counts while it runs.
            const message = versionFloors.problem ?? memory.problem;
            return message === undefined
              ? ({ status: "up" } as const)
              : ({ status: "degraded", message } as const);
          },
        },
        auditDeps: { bus, keys, retentionMs, memory, clock },
      };
    }),
};

export type Audited = OffersOf<typeof audit>;
