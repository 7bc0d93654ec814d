import { defined } from "../../../base/defined.ts";
import { isSameSet, type Labels } from "./labels.ts";
import type { Enrollment } from "./record.ts";

/**
 * What an enrollment that ended leaves to the next one of its peel. One that was never approved passes on what it got.
 */
export function formerFrom(ended: Enrollment | undefined): Pick<Enrollment, "former"> {
  if (ended === undefined) return {};
  if (ended.state !== "revoked") return defined({ former: ended.former });
  const { id: enrollment, labels = {} } = ended;
  return isSameSet(labels, {}) ? {} : { former: { enrollment, labels } };
}

/**
 * The labels of a peel that is approved: who approves a host cannot take off the labels that roles and settings chose
 * it by before.
 *
 * @param own those of the new enrollment
 */
export function labelsOnApproval({ former }: Pick<Enrollment, "former">, own: Labels = {}): Labels {
  return { ...former?.labels, ...own };
}
