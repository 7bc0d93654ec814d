import * as v from "valibot";
import { record } from "../../base/record.ts";

/** What a master passes on to the one that reacts: a request that it has judged and recorded, and who sent it. */
export const relayed = record(
  "relayed request",
  { operator: v.string(), input: v.record(v.string(), v.unknown()) },
  { isOpen: true },
);
