import type { Outlook } from "./outlook.ts";

/** Why something waits for other operators, or would be refused. */
export function OutlookNotes({ outlook: { rule, refused } }: { outlook: Outlook }) {
  if (refused !== undefined) return <p class="notice failed">{refused}</p>;
  return rule === undefined ? null : <p class="muted small">For the rule: {rule}</p>;
}
