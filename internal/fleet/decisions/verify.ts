import { isId } from "../../base/id.ts";
import { decisionBuckets, nameOf } from "./decision.ts";
import { enrollmentOf, isDecision, type Judge, orderOf, readingOf, type Stored } from "./order.ts";
import { type Contents, planRestore } from "./plan.ts";

/** How a record differs between the bus and the log of a master. */
export const problems = [
  "lost",
  "outdated",
  "unlogged",
  "different",
  "tampered",
  "superseded",
  "malformed",
] as const;

export interface Difference {
  bucket: string;
  key: string;
  peelId: string;
  /**
   * `lost`: the bus does not have it. `outdated`: the bus has an older version. `unlogged`: the log lacks this
   * version. `different`: equally new, with other contents. `tampered`: no master made what is on the bus. `superseded`: the peel has another enrollment. `malformed`:
   * nothing can read what is on the bus, so it has no effect.
   */
  problem: (typeof problems)[number];
}

/** The result of comparing the bus with the log of one master. */
export interface Verification {
  /** Decisions in the log. */
  logged: number;
  /** Decisions on the bus. */
  stored: number;
  differences: Difference[];
}

/** Compares the bus with a log. */
export function verificationOf(known: Iterable<Stored>, contents: Contents, judge: Judge): Verification {
  // What a log contains was a decision once, and what is equal to it is one as well: that is not decoded again.
  const logged = [...known].filter((one) => one.bucket === "enrollments" || isDecision(one, judge));
  const byName = new Map(logged.map((one) => [nameOf(one), one]));
  const isEqual = (one: Stored) => Buffer.from(byName.get(nameOf(one))?.value ?? []).equals(one.value);
  const stored = decisionBuckets.flatMap((bucket) =>
    (contents[bucket] ?? [])
      .map(({ key, value }) => ({ bucket, key, value }))
      .filter((one) => isEqual(one) || isDecision(one, judge)),
  );
  const { lost, superseded, unlogged } = planRestore(logged, contents, judge);
  const differ = (one: Stored, problem: Difference["problem"]): Difference => ({
    bucket: one.bucket,
    key: one.key,
    peelId: enrollmentOf(one)?.peelId ?? "",
    problem,
  });
  const tampered = contents.enrollments
    .map(({ key, value }): Stored => ({ bucket: "enrollments", key, value }))
    .filter((one) => byName.has(nameOf(one)) && !isEqual(one))
    .filter((one) => enrollmentOf(one) !== undefined && !isDecision(one, judge));
  const malformed = findMalformed(contents, (one) => byName.has(nameOf(one)));
  const different = stored.filter((one) => {
    const other = byName.get(nameOf(one));
    return other !== undefined && !isEqual(one) && orderOf(one, other) === "same";
  });
  return {
    logged: logged.length,
    stored: stored.length,
    differences: [
      ...lost.map(({ decision, was }) => differ(decision, was === "missing" ? "lost" : "outdated")),
      ...superseded.map(({ decision }) => differ(decision, "superseded")),
      ...unlogged.map((one) => differ(one, "unlogged")),
      ...tampered.map((one) => differ(one, "tampered")),
      ...malformed.map((one) => differ(one, "malformed")),
      ...different.map((one) => differ(one, "different")),
    ],
  };
}

/**
 * The records on the bus that nothing can read.
 *
 * @param isLogged whether the log has the record: then it is put back
 */
export function findMalformed(contents: Contents, isLogged: (one: Stored) => boolean): Stored[] {
  return (["enrollments", "revocations"] as const).flatMap((bucket) =>
    contents[bucket]
      .map(({ key, value }): Stored => ({ bucket, key, value }))
      .filter((one) => !isLogged(one) && isMalformed(one)),
  );
}

/** Whether a value is not what its bucket and its key say. The index of enrollments has other keys. */
function isMalformed(one: Stored): boolean {
  if (one.bucket === "revocations") return readingOf(one).revocation === undefined;
  return isId("enr", one.key) && enrollmentOf(one) === undefined;
}
