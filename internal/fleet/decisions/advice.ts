/** What to do about records on the bus that nothing can read. */
export const malformedAdvice =
  "find out who wrote it: it has no effect; svc bus verify names it. svc enroll revoke --key KEY takes the place of a revocation, svc enroll discard ID that of an enrollment";

/** What to do about decisions that the bus lost. */
export const restoreAdvice =
  "nothing for decisions: masters put them back; svc bus verify shows what still differs. A backup has what no log has (svc bus restore)";

/** What to do where the bus cannot be compared with the log. */
export const compareAdvice =
  "svc doctor says what is wrong with the bus; masters compare again by themselves";
