import { namesOf } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import {
  type EnrollmentState,
  type EnrollmentSummary,
  summarize,
} from "../../fleet/enrollment/record/mod.ts";
import { readEnrollments } from "../../fleet/enrollment/store/mod.ts";
import type { Candidate } from "../ids/choose.ts";
import { request } from "../request.ts";
import { openEnrollments } from "./connect.ts";

interface Listed {
  /** Newest first. */
  found: EnrollmentSummary[];
  /** How many records are ignored because no master vouches for them; `undefined` without the judgement of one. */
  distrusted: number | undefined;
}

/** Lists the enrollments in a state. @param isDirect whether storage is read, without a master */
export async function readList(bus: Bus, state: EnrollmentState | "all", isDirect: boolean): Promise<Listed> {
  if (isDirect) return { found: await readStored(bus, state), distrusted: undefined };
  const found: EnrollmentSummary[] = [];
  let cursor: string | undefined;
  for (;;) {
    const input = { state, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) };
    const page = await request(bus, enrollmentOperations.listEnrollments, input, { isHasty: true });
    found.push(...page.enrollments);
    if (page.next === undefined) return { found, distrusted: page.distrusted };
    cursor = page.next;
  }
}

/** What is stored, newest first. */
async function readStored(bus: Bus, state: EnrollmentState | "all"): Promise<EnrollmentSummary[]> {
  const stored = await readEnrollments(await openEnrollments(bus));
  const waiting = stored.filter((record) => record.state === "pending");
  const waitingBy = Map.groupBy(waiting, ({ peelId }) => peelId);
  return stored
    .filter((record) => state === "all" || record.state === state)
    .reverse()
    .map((record) => {
      const isContested = record.state === "pending" && (waitingBy.get(record.peelId)?.length ?? 0) > 1;
      return {
        ...{ ...namesOf(record.peelId), ...summarize(record) },
        ...(isContested ? { contested: true as const } : {}),
      };
    });
}

/** The stored enrollments whose ids begin so, for commands that contact no master. */
export async function storedCandidates(bus: Bus, _: "enr", beginning: string): Promise<Candidate[]> {
  const stored = await readStored(bus, "all");
  return stored.map(enrollmentOf).filter(({ id }) => id.startsWith(beginning));
}

/** An enrollment as one of several that a beginning may mean. */
export const enrollmentOf = ({ id, peel_id, state }: EnrollmentSummary): Candidate => ({
  id,
  text: `${namesOf(peel_id).peel}, ${state}`,
});
