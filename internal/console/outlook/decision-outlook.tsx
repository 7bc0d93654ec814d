import type { App } from "../api/mod.ts";
import { type Question, useOutlook } from "./outlook.ts";
import { OutlookNotes } from "./outlook-notes.tsx";

const unsaid = {
  pending: "Asking whether others must agree first …",
  unknown: "This master cannot say whether others must agree first.",
} as const;

/**
 * Says in a dialog whether a decision takes effect at once, waits for other operators, or would be refused.
 *
 * @param props.count how many requests are sent for it: one, unless each host has its own
 */
export function DecisionOutlook(props: { app: App; question: Question; count?: number }) {
  const { app, question, count = 1 } = props;
  const subject = count > 1 ? "Each decision" : "The decision";
  const outlook = useOutlook(app, question, { subject, does: "takes effect", infinitive: "take effect" });
  const { words, refused, open } = outlook;
  return (
    <>
      {refused === undefined && (
        <p class={open === undefined ? "" : "muted"}>{open === undefined ? `${words}.` : unsaid[open]}</p>
      )}
      <OutlookNotes outlook={outlook} />
    </>
  );
}
