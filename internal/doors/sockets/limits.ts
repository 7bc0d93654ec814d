import type { TableLimits } from "./table.ts";

/** The limits of the listener for all sources together. */
const usual: TableLimits = { unfinished: 256, unproven: 4_096, all: 16_384 };

/**
 * The limits for a process that may have this many files open. A connection is one of them, and a quarter stays for the
 * bus, Git and files. Where that is less than usual, those who proved nothing get half of it.
 */
export function limitsFor(openFiles = Number.POSITIVE_INFINITY): TableLimits {
  const all = Math.max(1, Math.min(usual.all, Math.floor(openFiles * 0.75)));
  return {
    unfinished: Math.min(usual.unfinished, Math.ceil(all / 4)),
    unproven: Math.min(usual.unproven, Math.ceil(all / 2)),
    all,
  };
}
