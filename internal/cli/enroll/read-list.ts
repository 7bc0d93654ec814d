import { namesOf } from "../../base/peel-id.ts";
import type { Bus } from "../../bus/mod.ts";
import {
  type EnrollmentState,
  type EnrollmentSummary,
  readEnrollments,
  summarize,
} from "../../fleet/enrollment/mod.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { ask, NoMaster } from "../ask.ts";
import { openEnrollments } from "./ask.ts";

interface Listed {
  /** Newest first. */
  found: EnrollmentSummary[];
  /** How many records are ignored; `undefined` when no master said. */
  distrusted: number | undefined;
}

/** Asks a master, which can judge records; without one, reads what is stored. */
export async function readList(bus: Bus, state: EnrollmentState | "all"): Promise<Listed> {
  const found: EnrollmentSummary[] = [];
  let cursor: string | undefined;
  try {
    for (;;) {
      const after = cursor === undefined ? {} : { cursor };
      const input = { state, limit: 1_000, ...after };
      const page = await ask(bus, enrollmentsOverBus.list, input, { isHasty: true });
      found.push(...page.enrollments);
      if (page.next === undefined) return { found, distrusted: page.distrusted };
      cursor = page.next;
    }
  } catch (thrown) {
    if (!(thrown instanceof NoMaster)) throw thrown;
    return { found: await readStored(bus, state), distrusted: undefined };
  }
}

/** What is stored, newest first, without the judgement of a master. */
export async function readStored(bus: Bus, state: EnrollmentState | "all"): Promise<EnrollmentSummary[]> {
  const stored = await readEnrollments(await openEnrollments(bus));
  return stored
    .filter((record) => state === "all" || record.state === state)
    .reverse()
    .map((record) => ({ ...namesOf(record.peelId), ...summarize(record) }));
}
