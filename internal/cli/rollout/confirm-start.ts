import { toSvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type RolloutRequest, rolloutOperations } from "../../fleet/rollout/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { confirmMany } from "../job/confirm-many.ts";
import { request } from "../request.ts";
import type { LaunchMode } from "./launch.ts";

/**
 * Asks before something is rolled out to many peels, as `svc run` does before it runs on many. A master counts them in a
 * plan that starts nothing.
 *
 * @param does begins the question: `Roll out state.apply`
 * @throws Exit 1 when the person does not want it
 */
export async function confirmStart(
  bus: Bus,
  wanted: RolloutRequest,
  { does, mode, isConfirmed }: { does: string; mode: LaunchMode; isConfirmed: boolean },
  cli: Cli,
): Promise<void> {
  if (mode === "dry-run") return;
  await confirmMany(cli, {
    ...{ does, isConfirmed },
    async count() {
      const planned = { ...wanted, dry_run: true };
      const { waves } = await request(bus, rolloutOperations.startRollout, planned).catch((thrown) => {
        // The start says why, with what is near.
        if (toSvcError(thrown).kind === "not_found") return { waves: [] };
        throw thrown;
      });
      return waves.reduce((sum, { peels }) => sum + peels.length, 0);
    },
  });
}
