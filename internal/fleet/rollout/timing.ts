/** Times for the heartbeat and the takeover of rollouts, all in milliseconds. */
export interface RolloutTiming {
  /** How often its driver sends a heartbeat. */
  heartbeatMs: number;
  /** After this silence another master may take over the rollout. */
  silenceMs: number;
  /** Masters that would take it over at the same moment are spread over this time. */
  spreadMs: number;
  /** How soon a step that failed in storage is tried again. */
  retryMs: number;
}

/**
 * The 60 s of silence of the specification (section "Limits"). The specification looks for silent drivers
 * every 60 s. Here each rollout has its own timer, so that the takeover is not delayed.
 */
export const rolloutTiming: RolloutTiming = {
  heartbeatMs: 10_000,
  silenceMs: 60_000,
  spreadMs: 500,
  retryMs: 2_000,
};
