import type { Progress } from "../../fleet/jobs/mod.ts";
import { visible } from "../../program/command-line/mod.ts";
import type { PeelProgress } from "../../wire/progress.ts";

/** How far the peels are that have not returned, together. */
export interface Running {
  take(progress: Pick<Progress, "event" | "running">): void;
  /** `34/120 states, 1 failed: file.managed /etc/motd`; empty when nothing is known. */
  note(): string;
}

/** Starts with nothing known. */
export function createRunning(): Running {
  const peels = new Map<string, PeelProgress>();
  const sum = { done: 0, total: 0, failed: 0 };
  const add = (progress: PeelProgress | undefined, sign: 1 | -1) => {
    if (progress === undefined) return;
    sum.done += sign * progress.done;
    sum.total += sign * progress.total;
    sum.failed += sign * progress.failed;
  };
  return {
    take({ event, running }) {
      if (running !== undefined) {
        add(peels.get(running.peel), -1);
        peels.set(running.peel, running);
        add(running, 1);
      }
      if (event?.return === undefined) return;
      add(peels.get(event.peel), -1);
      peels.delete(event.peel);
    },
    note() {
      if (peels.size === 0) return "";
      const failed = sum.failed === 0 ? "" : `, ${sum.failed} failed`;
      const only = peels.size === 1 ? [...peels.values()][0]?.current : undefined;
      const current = only === undefined || only === "" ? "" : `: ${visible(only)}`;
      return `${sum.done}/${sum.total} states${failed}${current}`;
    },
  };
}
