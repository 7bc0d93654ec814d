import type { routes } from "../../api/mod.ts";
import type { Outcome } from "../../kit/outcome.ts";
import { valueText } from "../../kit/value-text.ts";

/** An entry of the audit as masters list it. */
export type AuditEntry = NonNullable<(typeof routes.listAudit)["types"]>["answer"][number];

/** One entry in full. */
export type ShownEntry = NonNullable<(typeof routes.getAudit)["types"]>["answer"];

/** What an entry can say of its request. */
export const entryOutcomes = ["done", "refused", "failed", "begun", "unknown"] as const;

const outcomes: Readonly<Record<AuditEntry["outcome"], Outcome>> = {
  done: "ok",
  refused: "timeout",
  failed: "failed",
  begun: "running",
  unknown: "skipped",
};

/** How the outcome of an entry looks. */
export const outcomeOf = ({ outcome }: Pick<AuditEntry, "outcome">): Outcome => outcomes[outcome];

/**
 * The entries without the beginnings of those whose end is among them: the end says all of both, and names its
 * beginning.
 */
export function withoutBeginnings<Entry extends Pick<AuditEntry, "seq" | "outcome" | "subjects">>(
  entries: readonly Entry[],
): Entry[] {
  const ended = new Set(entries.map(({ subjects }) => subjects.begun));
  return entries.filter(({ seq, outcome }) => outcome !== "begun" || !ended.has(seq));
}

/** What an entry is about, on one line: `peel=web-1 job=j-1`. */
export const subjectText = ({ subjects }: Pick<AuditEntry, "subjects">): string =>
  Object.entries(subjects)
    .filter(([name]) => name !== "begun")
    .map(([name, value]) => `${name}=${valueText(value).replaceAll("\n", ", ")}`)
    .join(" ");
