import { displayPeelId, isPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { auditOperations } from "../../fleet/audit/mod.ts";
import { choice, value } from "../../program/command-line/mod.ts";
import { readPastTime } from "../past-time.ts";
import { request } from "../request.ts";

/** An entry, as masters show it. */
export type AuditView = Awaited<ReturnType<typeof requestPage>>["entries"][number];

/** The flags that choose entries. */
export const filterArgs = {
  since: value("time", "Only entries of this time or later: RFC 3339, or a duration ago such as 24h"),
  until: value("time", "Only entries of this time or earlier"),
  operator: value("name", "Only what this operator asked for"),
  action: value("name", "Only this operation, such as jobs.create; 'jobs.*' means all of jobs"),
  peel: value("id", "Only what names this peel", { ids: "peels" }),
  outcome: choice(["refused", "begun", "done", "failed", "unknown"], "Only entries with this outcome"),
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
    outcome: outcome as AuditView["outcome"] | undefined,
    since: since === undefined ? undefined : readPastTime("--since", since, now),
    until: until === undefined ? undefined : readPastTime("--until", until, now),
  };
}

/** Asks for one page. */
export function requestPage(
  bus: Bus,
  input: Parameters<typeof auditOperations.listAudit.operation.run>[1] | object,
) {
  return request(bus, auditOperations.listAudit, input);
}

/**
 * Reads entries, the newest first, page after page.
 *
 * @param max how many
 * @param take gets the entries of each page
 */
export async function readPages(
  bus: Bus,
  filter: ReturnType<typeof filterOf>,
  max: number,
  take: (entries: readonly AuditView[]) => void,
): Promise<{ more: boolean }> {
  let left = max;
  for (let cursor: string | undefined; ; ) {
    const { entries, next } = await requestPage(bus, { ...filter, cursor, limit: Math.min(left, 200) });
    take(entries);
    left -= entries.length;
    if (next === undefined) return { more: false };
    if (left <= 0) return { more: true };
    cursor = next;
  }
}

/** How something ended, and whether a master of the fleet signed it. */
export const outcomeWord = ({ genuine, outcome }: AuditView): string =>
  genuine ? outcome : `${outcome} (not genuine)`;

/** Digests, whose first digits are enough for people. */
const shortens: ReadonlySet<string> = new Set(["commit", "snapshot"]);

/** What holds peel ids, which people read with dots. */
const peelNames: ReadonlySet<string> = new Set(["peel", "peels", "targets"]);

/** What an entry is about as people read it: peel ids have dots. */
export const readableSubjects = (subjects: AuditView["subjects"]): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(subjects).map(([name, value]) => [name, peelNames.has(name) ? dotted(value) : value]),
  );

function dotted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dotted);
  return typeof value === "string" && isPeelId(value) ? displayPeelId(value) : value;
}

/** What an entry is about, and why it was refused or failed, in one line. */
export function aboutLine({ subjects, reason = "" }: AuditView): string {
  const about = Object.entries(readableSubjects(subjects))
    .filter(([name]) => name !== "begun" && name !== "args_digest" && name !== "peel_count")
    .map(([name, value]) => `${name}=${shortens.has(name) ? wordOf(value).slice(0, 12) : wordOf(value)}`)
    .join(" ");
  return [about, reason].filter((text) => text !== "").join(": ");
}

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return value.length <= 2 ? value.join(",") : `${value[0]},… (${value.length})`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
