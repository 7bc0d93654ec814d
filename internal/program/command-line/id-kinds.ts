/** The kinds of words that completion offers: functions, their arguments and columns are not read from the bus. */
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
  /** Arguments of the function before them. */
  "arguments",
  /** Names of facts with commas between them: of the peel before them, or of any. */
  "facts",
  /** Columns of the list of peels, with commas between them. */
  "columns",
] as const;
export type IdKind = (typeof idKinds)[number];

/** The hidden command that the scripts call for ids: `svc __ids KIND PREFIX CONFIG WORD`, with the word before. */
export const idsCommand = "__ids";
