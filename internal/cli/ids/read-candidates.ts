import { timeOfId } from "../../base/id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { joinTokenOperations } from "../../fleet/join-tokens/mod.ts";
import { rolloutOperations } from "../../fleet/rollout/mod.ts";
import { tokenOperations } from "../../fleet/tokens/mod.ts";
import { enrollmentOf } from "../enroll/read-list.ts";
import { request } from "../request.ts";
import { type Candidate, lengthOfIds, maxShown, type ShortKind } from "./choose.ts";

/** A page of a list, newest first. */
interface Page {
  items: Candidate[];
  next?: string | undefined;
}

type Lister = (bus: Bus, page: { limit: number; cursor?: string }) => Promise<Page>;

/** Most ids are of today: the first page is small. */
const firstPage = 100;
const otherPages = 1_000;
/** A list is sorted by the time of its records, and ids are made a moment before or after. */
const slackMs = 60_000;

/** What the masters list, newest first. Anyone who may see a list may use the beginnings of its ids. */
const listers: Record<ShortKind, Lister> = {
  async enr(bus, page) {
    const found = await request(
      bus,
      enrollmentOperations.listEnrollments,
      { state: "all", ...page },
      { isHasty: true },
    );
    return { items: found.enrollments.map(enrollmentOf), next: found.next };
  },
  async job(bus, page) {
    const { jobs, next } = await request(bus, jobOperations.listJobs, page);
    return {
      items: jobs.map(({ jid, function: text, status }) => ({ id: jid, text: `${text}, ${status}` })),
      next,
    };
  },
  async rol(bus, page) {
    const { rollouts, next } = await request(bus, rolloutOperations.listRollouts, page);
    return {
      items: rollouts.map(({ id, function: text, status }) => ({ id, text: `${text}, ${status}` })),
      next,
    };
  },
  async apr(bus) {
    const { approvals } = await request(bus, approvalOperations.listApprovals, {});
    return { items: approvals.map(({ id, operation, state }) => ({ id, text: `${operation}, ${state}` })) };
  },
  async tok(bus) {
    const { tokens } = await request(bus, tokenOperations.listTokens, {});
    return { items: tokens.map(({ id, name, state }) => ({ id, text: `${name}, ${state}`, name })) };
  },
  async jtk(bus) {
    const { tokens } = await request(bus, joinTokenOperations.listJoinTokens, {});
    return { items: tokens.map(({ id, peel, state }) => ({ id, text: `${peel}, ${state}` })) };
  },
};

/**
 * The records whose ids begin so, and enough of them to see that there are many. They are read from the lists of a master
 * page by page, until older ones can no longer begin so: an id begins with the time at which it was made.
 *
 * @throws SvcError what a master answers
 */
export async function readCandidates(bus: Bus, kind: ShortKind, beginning: string): Promise<Candidate[]> {
  const oldest = timeOfId(beginning.padEnd(kind.length + 1 + lengthOfIds, "0")) - slackMs;
  const found: Candidate[] = [];
  let page: Parameters<Lister>[1] = { limit: firstPage };
  for (;;) {
    const { items, next } = await listers[kind](bus, page);
    found.push(...items.filter(({ id, name }) => id.startsWith(beginning) || name === beginning));
    const last = items.at(-1);
    if (found.length > maxShown) return found;
    if (next === undefined || last === undefined || timeOfId(last.id) < oldest) return found;
    page = { limit: otherPages, cursor: next };
  }
}
