import { defined } from "../../base/defined.ts";
import type { StagedUpgrade, UpgradeState } from "./files.ts";

/** An event of an upgrade, as seen by the watchdog. */
export type UpgradeEvent =
  /** A watchdog started, with the state that the previous one left. */
  | { kind: "started" }
  /** The peel has staged a binary. */
  | { kind: "requested"; staged: StagedUpgrade }
  /** The staged binary is not usable. */
  | { kind: "refused"; staged: StagedUpgrade; reason: string }
  /** The binary on trial stayed ready long enough. `packaged` is the digest of the packaged executable. */
  | { kind: "settled"; packaged: string }
  /** The binary on trial failed. */
  | { kind: "failed"; reason: string }
  /** The packaged executable has this digest now. */
  | { kind: "packaged"; sha256: string }
  /** The current binary is missing, or was modified. */
  | { kind: "unusable" };

/**
 * The state after an event. A trial has exactly one outcome. A trial that is undecided when a watchdog starts
 * is rolled back, because its progress is unknown.
 *
 * @param at milliseconds since the Unix epoch
 * @returns the state itself when nothing changes
 */
export function afterEvent(state: UpgradeState, event: UpgradeEvent, at: number): UpgradeState {
  switch (event.kind) {
    case "started":
      return ended(state, "the watchdog or the host stopped during the trial", at);
    case "failed":
      return ended(state, event.reason, at);
    case "requested": {
      const { staged } = event;
      if (isKnown(state, staged)) return state;
      if (at >= staged.deadline) {
        return refused(state, staged, "the deadline of the job passed before the upgrade began", at);
      }
      return { ...state, trial: staged };
    }
    case "refused":
      return isKnown(state, event.staged) ? state : refused(state, event.staged, event.reason, at);
    case "settled": {
      const { trial, current, ...rest } = state;
      if (trial === undefined) return state;
      const { jid, sha256, version, from } = trial;
      return {
        ...rest,
        ...defined({ previous: current?.sha256 }),
        current: { sha256, version, packaged: event.packaged },
        outcome: { jid, success: true, version, from, rolledBack: false, reason: "", at },
      };
    }
    case "packaged":
      return state.current === undefined || state.current.packaged === event.sha256
        ? state
        : withoutCurrent(state);
    case "unusable":
      return state.current === undefined ? state : withoutCurrent(state);
  }
}

function ended(state: UpgradeState, reason: string, at: number): UpgradeState {
  const { trial, ...rest } = state;
  if (trial === undefined) return state;
  const { jid, version, from } = trial;
  return { ...rest, outcome: { jid, success: false, version, from, rolledBack: true, reason, at } };
}

function refused(state: UpgradeState, staged: StagedUpgrade, reason: string, at: number): UpgradeState {
  const { jid, version, from } = staged;
  return { ...state, outcome: { jid, success: false, version, from, rolledBack: false, reason, at } };
}

/** Whether a request was claimed before. It can appear twice when a watchdog died in between. */
function isKnown({ trial, outcome }: UpgradeState, { jid }: StagedUpgrade): boolean {
  return trial !== undefined || outcome?.jid === jid;
}

function withoutCurrent({ current: _, ...rest }: UpgradeState): UpgradeState {
  return rest;
}
