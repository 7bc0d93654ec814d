import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Renewal } from "./renew.ts";

export interface SettingsHealth {
  status: "up" | "degraded";
  message?: string;
}

/**
 * Reports the progress of compiling settings: the log once per reason, the health status as long as a problem
 * exists.
 */
export interface Report {
  add(peelId: string, renewal: Renewal, reason: string | undefined): void;
  /** No settings can be compiled. */
  treeBroken(reason: string): void;
  /** All work is done for now; logs what was not logged yet. */
  pause(): void;
  /** Another master has taken over. */
  clear(): void;
  health(directoryProblem: string | undefined): SettingsHealth;
}

const shownPeels = 5;

export function createReport(log: Log): Report {
  const failing = new Map<string, string>();
  const kept = new Set<string>();
  let broken: string | undefined;
  let untold = new Map<string, string[]>();
  let counts = { written: 0, unchanged: 0, failed: 0, removed: 0, kept: 0 };
  let worked = false;
  return {
    add(peelId, renewal, reason) {
      broken = undefined;
      if (renewal === "kept") kept.add(peelId);
      else kept.delete(peelId);
      if (renewal !== "waiting") {
        counts[renewal]++;
        worked = true;
      }
      if (reason === undefined) {
        failing.delete(peelId);
        return;
      }
      if (failing.get(peelId) === reason) return;
      failing.set(peelId, reason);
      const peels = untold.get(reason) ?? [];
      untold.set(reason, peels);
      peels.push(peelId);
    },
    treeBroken(reason) {
      if (broken !== reason) {
        log.error("the settings files are invalid: all peels keep their settings", { reason });
      }
      broken = reason;
    },
    pause() {
      for (const [reason, peels] of untold) {
        log.error("settings cannot be compiled: these peels keep their previous settings", {
          reason,
          peels: peels.length,
          peel_ids: peels.slice(0, shownPeels),
        });
      }
      untold = new Map();
      if (worked) log.info("settings compiled", counts);
      if (counts.kept > 0) {
        log.error("top.sls does not exist: previously compiled settings stay in force");
      }
      counts = { written: 0, unchanged: 0, failed: 0, removed: 0, kept: 0 };
      worked = false;
    },
    clear() {
      failing.clear();
      kept.clear();
      broken = undefined;
    },
    health(directoryProblem) {
      const degraded = (message: string): SettingsHealth => ({ status: "degraded", message });
      if (directoryProblem !== undefined) return degraded(directoryProblem);
      if (broken !== undefined) return degraded(broken);
      const [first] = failing;
      if (first !== undefined) {
        const [peelId, reason] = first;
        return degraded(
          `${failing.size === 1 ? "1 peel keeps" : `${failing.size} peels keep`} older settings, such as ${displayPeelId(peelId)}: ${reason}`,
        );
      }
      if (kept.size > 0) {
        return degraded(
          "top.sls does not exist: previous settings stay in force; create an empty top.sls to remove them",
        );
      }
      return { status: "up" };
    },
  };
}
