import { formatDuration } from "../../base/duration.ts";
import { type ComplianceStatus, parseStale, statuses, usualStaleMs } from "../../fleet/compliance/mod.ts";
import { readFlag, value } from "../../program/command-line/mod.ts";

export const staleArg = value("duration", "How long a run counts; a peel without a later one is stale", {
  default: formatDuration(usualStaleMs),
});

/** The text of `--stale` as masters read it: a mistake is reported before a request is sent. @throws SvcError `usage` */
export function checkStale(text: string): string {
  readFlag("--stale", text, parseStale);
  return text;
}

/** How many peels were counted. */
export function countPeels(counts: Readonly<Record<ComplianceStatus, number>>): number {
  return statuses.reduce((sum, status) => sum + counts[status], 0);
}
