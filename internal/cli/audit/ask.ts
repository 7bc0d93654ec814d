import { rfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/mod.ts";
import { auditOverBus } from "../../fleet/over-bus/mod.ts";
import { ask } from "../ask.ts";

/** An entry, as masters show it. */
export type AuditView = Awaited<ReturnType<typeof askPage>>["entries"][number];

/** The flags that choose entries. */
export const filterArgs = {
  since: {
    type: "string",
    valueHint: "time",
    description: "Only entries of this time or later: RFC 3339, or a duration ago such as 24h",
  },
  until: { type: "string", valueHint: "time", description: "Only entries of this time or earlier" },
  operator: { type: "string", valueHint: "name", description: "Only what this operator asked for" },
  action: {
    type: "string",
    valueHint: "name",
    description: "Only this operation, such as jobs.create; 'jobs.*' means all of jobs",
  },
  peel: { type: "string", valueHint: "id", description: "Only what names this peel", ids: "peels" },
  outcome: {
    type: "enum",
    options: ["refused", "begun", "done", "failed", "unknown"] as string[],
    description: "Only entries with this outcome",
  },
} as const;

interface Words {
  since?: string | undefined;
  until?: string | undefined;
  operator?: string | undefined;
  action?: string | undefined;
  peel?: string | undefined;
  outcome?: string | undefined;
}

/** The filter of a command line. @param now milliseconds since the Unix epoch. @throws SvcError `usage` */
export function filterOf({ since, until, operator, action, peel, outcome }: Words, now: number) {
  return {
    ...{ by: operator, action, peel },
    outcome: outcome as "done" | undefined,
    since: since === undefined ? undefined : timeOf("--since", since, now),
    until: until === undefined ? undefined : timeOf("--until", until, now),
  };
}

function timeOf(flag: string, text: string, now: number): string {
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = isTime ? Date.parse(text) : agoOf(text, now);
  if (at !== undefined && !Number.isNaN(at)) return rfc3339(at);
  throw new SvcError(
    "usage",
    `${flag}: ${JSON.stringify(text.slice(0, 40))} is not a time: write 2026-01-31, 2026-01-31T09:00:00Z, or a duration ago such as 24h`,
  );
}

function agoOf(text: string, now: number): number | undefined {
  try {
    return now - parseDuration(text);
  } catch {
    return undefined;
  }
}

/** Asks for one page. */
export function askPage(bus: Bus, input: Parameters<typeof auditOverBus.list.operation.run>[1] | object) {
  return ask(bus, auditOverBus.list, input);
}

/**
 * Reads entries, the newest first, page after page.
 *
 * @param most how many
 * @param take gets the entries of each page
 */
export async function readPages(
  bus: Bus,
  filter: ReturnType<typeof filterOf>,
  most: number,
  take: (entries: readonly AuditView[]) => void,
): Promise<{ more: boolean }> {
  let left = most;
  for (let cursor: string | undefined; ; ) {
    const { entries, next } = await askPage(bus, { ...filter, cursor, limit: Math.min(left, 200) });
    take(entries);
    left -= entries.length;
    if (next === undefined) return { more: false };
    if (left <= 0) return { more: true };
    cursor = next;
  }
}

/** What an entry is about, in one line. */
export function subjectLine({ subjects }: AuditView): string {
  return Object.entries(subjects)
    .filter(([name]) => name !== "begun" && name !== "args_digest" && name !== "peel_count")
    .map(([name, value]) => `${name}=${wordOf(value)}`)
    .join(" ");
}

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return value.length <= 2 ? value.join(",") : `${value[0]},… (${value.length})`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
