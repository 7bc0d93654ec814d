import * as v from "valibot";

/** A stored time, RFC 3339 as `rfc3339` writes it, read as milliseconds since the Unix epoch. */
export const instant = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.transform((text) => Date.parse(text)),
);
