/** How patient a watchdog is. */
export interface Limits {
  /** How often it looks for a request, and at the readiness of a binary on trial. */
  pollMs: number;
  /** How often the peel's health is asked for. */
  healthEveryMs: number;
  /** How long one answer may take. */
  answerMs: number;
  /** Questions in a row without any answer after which the peel counts as frozen. */
  healthTries: number;
  /** Pause before the first restart; it doubles with each one that follows. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** Health for this long makes the next pause the first one again. */
  wellAfterMs: number;
  /** How long a peel may take to end when it is told to. */
  stopMs: number;
  /** How long a binary on trial has to stay ready. */
  settleMs: number;
  /** How often a binary on trial may end by itself. */
  trialStarts: number;
}

/** A peel that does a lot at once may be silent for some seconds; a minute is not that. */
export const usualLimits: Limits = {
  pollMs: 1_000,
  healthEveryMs: 10_000,
  answerMs: 5_000,
  healthTries: 4,
  firstPauseMs: 1_000,
  longestPauseMs: 60_000,
  wellAfterMs: 5 * 60_000,
  stopMs: 45_000,
  settleMs: 15_000,
  trialStarts: 3,
};
