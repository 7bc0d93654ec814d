/** Intervals and timeouts of a watchdog. */
export interface Limits {
  /** Interval of the checks for a request, and for the readiness of a binary on trial. */
  pollMs: number;
  /** Interval of the peel's health checks. */
  healthEveryMs: number;
  /** Timeout of one health check. */
  answerMs: number;
  /** Consecutive unanswered health checks after which the peel counts as frozen. */
  healthTries: number;
  /** Backoff before the first restart. It doubles with each further restart. */
  firstPauseMs: number;
  maxPauseMs: number;
  /** After being healthy for this long, the backoff is reset. */
  wellAfterMs: number;
  /** Timeout for a peel to exit after SIGTERM. */
  stopMs: number;
  /** How long a binary on trial has to stay ready. */
  settleMs: number;
  /** How often a binary on trial may exit by itself. */
  trialStarts: number;
}

/** A busy peel may not answer for some seconds, but not for a minute. */
export const usualLimits: Limits = {
  pollMs: 1_000,
  healthEveryMs: 10_000,
  answerMs: 5_000,
  healthTries: 4,
  firstPauseMs: 1_000,
  maxPauseMs: 60_000,
  wellAfterMs: 5 * 60_000,
  stopMs: 45_000,
  settleMs: 15_000,
  trialStarts: 3,
};
