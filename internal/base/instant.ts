import * as v from "valibot";

/** A stored time in the form that `rfc3339` writes, read as milliseconds since the Unix epoch. */
export const instant = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.transform((text) => Date.parse(text)),
);
