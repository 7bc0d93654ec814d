import * as v from "valibot";
import { record } from "../../base/record.ts";
import { optional } from "../../base/record-kinds.ts";

/** A lease that is held, as it is stored under its name. Before it is renewed, its revision is the token. */
export const {
  encode: encodeHeld,
  decode: decodeHeld,
  decodeOrNothing: readHeld,
} = record(
  "lease",
  {
    holder: v.string(),
    token: optional(v.number()),
    /** When it was taken. */
    since: optional(v.string()),
    renewed_at: optional(v.string()),
  },
  { isOpen: true },
);
