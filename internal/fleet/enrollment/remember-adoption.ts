import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { adoptionMark, isAdoptionMark, newAdoptionMark, readAdoption } from "./adopt.ts";
import type { Adoption } from "./verdict.ts";

/** Where a master keeps the mark of the adoption outside the bus. */
export interface AdoptionNote {
  read(): Uint8Array | undefined;
  /** @throws SvcError `storage` */
  keep(mark: Uint8Array): Promise<void>;
}

/** What a master remembers of the adoption: who controls the bus cannot make it adopt records once more. */
export interface AdoptionMemory {
  /** Reads whether the fleet is marked, on the bus or in the memory of this master. @throws SvcError `storage` */
  recall(): Promise<Adoption>;
  /** Remembers that it is. A disk that cannot be written to is logged. */
  note(): Promise<void>;
  /** Puts the mark back if the bus does not have it. @throws SvcError `storage` */
  restore(): Promise<void>;
}

export function createAdoptionMemory(deps: {
  note: AdoptionNote;
  secrets: Pick<Bucket, "get" | "create">;
  mac: RecordMac;
  clock: Pick<Clock, "now">;
  log: Log;
}): AdoptionMemory {
  const { secrets, mac, clock, log } = deps;
  /** A mark of another fleet, or one that was damaged, says nothing. */
  const noted = () => {
    const mark = deps.note.read();
    return mark !== undefined && isAdoptionMark(mark, mac) ? mark : undefined;
  };
  const note = async () => {
    if (noted() !== undefined) return;
    try {
      await deps.note.keep(newAdoptionMark(mac, clock.now()));
    } catch (thrown) {
      log.warn("the adoption of enrollments is not remembered on disk", { reason: describeError(thrown) });
    }
  };
  const restore = async () => {
    const mark = noted() ?? newAdoptionMark(mac, clock.now());
    if ((await secrets.create(adoptionMark, mark)) === undefined) return;
    log.error("the mark of adopted enrollments was missing on the bus, and was put back", {
      key: adoptionMark,
    });
  };
  return {
    async recall() {
      if (noted() !== undefined) {
        await restore();
        return "done";
      }
      const adoption = await readAdoption(deps);
      if (adoption === "done") await note();
      return adoption;
    },
    note,
    restore,
  };
}
