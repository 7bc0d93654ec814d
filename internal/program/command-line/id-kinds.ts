/** What completion can read from the bus, to offer it for an argument. */
export const idKinds = [
  /** Peels that take jobs. */
  "members",
  /** Every peel that ever enrolled. */
  "peels",
  "enrollments",
  "pending-enrollments",
  "revocable-enrollments",
  "jobs",
  "running-jobs",
  "rollouts",
] as const;
export type IdKind = (typeof idKinds)[number];

/** The name under which the scripts ask for ids: `svc __ids KIND PREFIX CONFIG`. No help shows it. */
export const idsCommand = "__ids";
