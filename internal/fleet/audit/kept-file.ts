import { reasonOf, secretMode, writeFileAtomic } from "../../base/file.ts";
import type { Log } from "../../base/log.ts";

/** A file that a master writes again as a whole, whenever what it holds changes. */
export interface KeptFile {
  /** Writes what there is now. A failure is reported once, and `retry` writes it later. */
  save(): void;
  /** Writes what could not be written. */
  retry(): void;
  /** Why what is on disk is outdated, with the next step; `undefined` when it is not. */
  readonly problem: string | undefined;
}

/**
 * @param options.holds what it holds, as messages name it
 * @param options.render its text
 */
export function createKeptFile(options: {
  path: string;
  holds: string;
  render(): string;
  log: Log;
}): KeptFile {
  const { path, holds, render, log } = options;
  let reason: string | undefined;
  const save = () => {
    const before = reason;
    try {
      writeFileAtomic(path, render(), secretMode);
      reason = undefined;
    } catch (thrown) {
      reason = reasonOf(thrown);
    }
    if ((reason === undefined) === (before === undefined)) return;
    if (reason === undefined) log.info(`${holds} are on disk again`, { path });
    else log.error(`${holds} are kept in memory only`, { path, reason, next: nextStep });
  };
  return {
    save,
    retry() {
      if (reason !== undefined) save();
    },
    get problem() {
      return reason === undefined
        ? undefined
        : `${holds} cannot be written to ${path}: ${reason}: ${nextStep}`;
    },
  };
}

const nextStep = "free space on that disk, and do not restart this master before";
