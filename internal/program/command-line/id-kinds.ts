/** The kinds of ids that completion offers: all but functions are read from the bus. */
export const idKinds = [
  /** Peels that accept jobs. */
  "members",
  /** All peels that ever enrolled. */
  "peels",
  "enrollments",
  "pending-enrollments",
  "revocable-enrollments",
  "cloned-enrollments",
  "suspended-enrollments",
  "jobs",
  "running-jobs",
  "rollouts",
  /** Functions that a job can call. */
  "functions",
] as const;
export type IdKind = (typeof idKinds)[number];

/** The hidden command that the scripts call for ids: `svc __ids KIND PREFIX CONFIG`. */
export const idsCommand = "__ids";
