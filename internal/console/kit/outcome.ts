/**
 * How something looks, whatever the word of the API for it is: the seven outcomes of jobs, and what is not an end. In
 * the order in which pictures stack them.
 */
export const outcomes = [
  "ok",
  "changed",
  "running",
  "skipped",
  "cancelled",
  "offline",
  "busy",
  "timeout",
  "lost",
  "failed",
] as const;
export type Outcome = (typeof outcomes)[number];

const words: Readonly<Record<string, Outcome>> = {
  // Peels
  alive: "ok",
  silent: "offline",
  // Enrollments
  pending: "running",
  approved: "running",
  issued: "running",
  active: "ok",
  rejected: "failed",
  revoked: "failed",
  suspended: "timeout",
  // Compliance
  described: "ok",
  drifted: "changed",
  stale: "timeout",
  never: "skipped",
  // Jobs and their targets
  completed: "ok",
  // Rollouts
  paused: "timeout",
  aborted: "failed",
  waiting: "running",
};

/** The outcome that stands for a word of the API; a word that is not known is shown without a judgement. */
export function outcomeOf(word: string): Outcome {
  const own = outcomes.find((one) => one === word);
  return own ?? (Object.hasOwn(words, word) ? words[word] : undefined) ?? "skipped";
}
