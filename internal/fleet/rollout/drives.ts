import { describeError } from "../../base/errors.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { type Drive, driveRollout } from "./drive.ts";
import type { DriveDeps } from "./driving.ts";
import { decodeRollout, encodeRollout, isLive, type Rollout } from "./record.ts";

/**
 * How long a stopping master may take to give its rollouts back; others take over the rest when it is silent.
 */
const giveBackMs = 2_000;

/** The rollouts that this master drives. */
export interface Drives {
  /** Drives a rollout, or notifies its drive of a possible change. */
  drive(rollout: Pick<Rollout, "id" | "token">): void;
  /** Something that its drives depend on may have changed. */
  wake(): void;
  /** Stops driving a rollout. @returns whether this master drove it */
  leave(id: string): boolean;
  /** Ends all drives and gives the rollouts back, so that other masters take over at once. */
  giveBack(): Promise<void>;
}

export function createDrives(deps: DriveDeps): Drives {
  const { rollouts, self, clock, log } = deps;
  const drives = new Map<string, Drive>();

  const giveBackOne = async (id: string, running: Drive) => {
    await running.stop();
    const attempt = async () => {
      const entry = await rollouts.get(id);
      if (entry === undefined) return false;
      const { driver, ...rollout } = decodeRollout(entry.value);
      if (driver !== self || rollout.token !== running.token || !isLive(rollout)) return false;
      // A last heartbeat may have been in transit.
      const stored = await rollouts.update(id, encodeRollout(rollout), entry.revision);
      return stored === undefined ? conflict : true;
    };
    const isGiven = await retryOnConflict(attempt, { exhausted: "the rollout changed too often" });
    if (isGiven) log.info("rollout given back", { rollout: id });
  };
  return {
    drive({ id, token }) {
      const running = drives.get(id);
      if (running?.token === token) return running.wake();
      void running?.stop();
      drives.set(id, driveRollout(deps, id, token));
    },
    wake() {
      for (const running of drives.values()) running.wake();
    },
    leave(id) {
      // It is not awaited: the step in progress learns by itself that it is too late.
      void drives.get(id)?.stop();
      return drives.delete(id);
    },
    async giveBack() {
      const given = [...drives].map(([id, running]) =>
        giveBackOne(id, running).catch((thrown) => {
          log.warn("a rollout was not released; another master takes it over in a minute", {
            rollout: id,
            reason: describeError(thrown),
          });
        }),
      );
      const late = Promise.withResolvers<void>();
      const timer = clock.after(giveBackMs, late.resolve);
      await Promise.race([Promise.all(given), late.promise]);
      timer.cancel();
    },
  };
}
