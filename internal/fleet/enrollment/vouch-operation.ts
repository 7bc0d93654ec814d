import * as v from "valibot";
import { described, titled } from "../../base/schema.ts";
import { operation } from "../operation/mod.ts";
import type { AdoptionProcess } from "./follow-adoption.ts";

export const vouchEnrollments = operation({
  name: "enrollments.vouch",
  kind: "decide",
  summary: "Vouch for the enrollments of earlier versions, and enforce vouchers from then on",
  admits: ["operator"],
  scope: { kind: "enrollments", action: "vouch" },
  input: v.strictObject({}),
  output: titled(
    "Vouched",
    v.object({
      adopted: described(v.number(), "Records that got vouchers"),
      refused: described(v.number(), "Records without valid vouchers, which count for nothing"),
    }),
  ),
  touches: () => ({ fleet: true }),
  async run({ adoption }: { adoption: Pick<AdoptionProcess, "adopt"> }, _, { log }) {
    return { ...(await adoption.adopt(log)) };
  },
});
