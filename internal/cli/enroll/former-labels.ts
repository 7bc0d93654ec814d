import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import type { Labels } from "../../fleet/enrollment/record/mod.ts";
import { loadEnrollment } from "../../fleet/enrollment/store/mod.ts";
import { request } from "../request.ts";
import { openEnrollments } from "./connect.ts";
import type { Decision } from "./decide.ts";
import { formatLabels } from "./label-change.ts";

const atOnce = 16;

/** What to know before hosts are approved that had labels before. */
export function noticesOfLabels(
  bus: Bus,
  { isDirect, drops }: { isDirect: boolean; drops: boolean },
): Pick<Decision, "noticeOf" | "noticesOf"> {
  const noticeOf = (peelId: string, former: Labels | undefined) => {
    if (former === undefined) return undefined;
    const had = `${displayPeelId(peelId)} had the labels ${formatLabels(former)}`;
    return drops
      ? `${had}, and loses them`
      : `${had}, and gets them again: --drop-labels approves it without`;
  };
  const noticeOfId = async (id: string) => {
    try {
      if (isDirect) {
        const { record } = await loadEnrollment(await openEnrollments(bus), id);
        return noticeOf(record.peelId, record.former?.labels);
      }
      const { enrollment } = await request(bus, enrollmentOperations.showEnrollment, { id });
      return noticeOf(enrollment.peel_id, enrollment.former?.labels);
    } catch (thrown) {
      // Who may approve may not always read; what else is wrong, the approval says.
      if (thrown instanceof SvcError) return undefined;
      throw thrown;
    }
  };
  return {
    noticeOf: ({ peel_id, former_labels }) => noticeOf(peel_id, former_labels),
    noticesOf: async (ids) => (await mapBounded(ids, { atOnce }, noticeOfId)).flatMap((one) => one ?? []),
  };
}
