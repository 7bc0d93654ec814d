/** How a rollout is kept alive, and taken over from a master that is gone; all in milliseconds. */
export interface RolloutTiming {
  /** How often its driver says that it is there. */
  heartbeatMs: number;
  /** A driver that was silent for so long has lost the rollout to whoever takes it. */
  silenceMs: number;
  /** Several masters that find the same moment to take it are spread over this time. */
  spreadMs: number;
  /** How soon a step that the storage did not let through is tried again. */
  retryMs: number;
}

/**
 * The specification's 60 s of silence (section "Limits"). It looks for silent drivers every 60 s; here each
 * rollout has a timer of its own, so that one is taken over when its driver's time is up, and not later.
 */
export const rolloutTiming: RolloutTiming = {
  heartbeatMs: 10_000,
  silenceMs: 60_000,
  spreadMs: 500,
  retryMs: 2_000,
};
