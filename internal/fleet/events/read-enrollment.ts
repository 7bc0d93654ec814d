import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { streamName } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type PlacedMessage, readRange } from "../../bus/streams/mod.ts";
import { keySubject } from "../../bus/subjects/subjects.ts";
import { type Enrollment, trustOf } from "../enrollment/record/mod.ts";
import { type Enrollments, readEntry } from "../enrollment/store/mod.ts";
import { type Event, tagOf } from "../reactor/events/mod.ts";

/** Judges stored records. */
export type Judging = Pick<Enrollments, "vouchers">;

/** A later version of the same state, such as one with other labels, is usually written after this time. */
const skewMs = 60_000;
/** More than the bucket keeps of one record. */
const maxVersions = 64;

/**
 * Reads a stored version of an enrollment: an event when it is the first one with its state.
 *
 * @returns `undefined` for any other version, for what is not a record, and for a record that no master vouches for
 * @throws SvcError `storage`
 */
export async function readEnrollmentChange(
  bus: Bus,
  message: PlacedMessage,
  judging: Judging,
): Promise<Event | undefined> {
  const record = recordOf(message, judging);
  if (record === undefined || !(await isFirstOfState(bus, message, record))) return undefined;
  const { id, peelId, state, hostname, decidedBy } = record;
  const what = state === "pending" ? "created" : state;
  const reason = { rejected: record.rejectReason, revoked: record.revokeReason }[String(state)];
  return {
    id: `${id}:${what}`,
    tag: tagOf("svc", "enrollment", what),
    source: peelId,
    origin: "service",
    at: message.storedAt,
    depth: 0,
    data: {
      id,
      peel_id: peelId,
      ...defined({ hostname }),
      trust: trustOf(record),
      ...defined({ decided_by: decidedBy, reason }),
    },
  };
}

function recordOf(
  { subject, data, sequence }: PlacedMessage,
  judging: Judging,
): (Enrollment & { at: number }) | undefined {
  const key = subject.slice(keySubject("enrollments", "").length);
  // The index of a peel is not a record, and a removed one is empty.
  if (!isId("enr", key) || data.length === 0) return undefined;
  try {
    const record = readEntry(judging, { key, value: data, revision: sequence })?.record;
    return record === undefined ? undefined : { ...record, at: timeOfState(record) };
  } catch {
    return undefined;
  }
}

/** When a record came to its state, by the clock of a master. */
function timeOfState({ state, createdAt, decidedAt, issuedAt, activatedAt, revokedAt }: Enrollment): number {
  const times = {
    ...{ pending: createdAt, approved: decidedAt, rejected: decidedAt },
    ...{ issued: issuedAt, active: activatedAt, revoked: revokedAt },
  };
  return times[state] ?? createdAt;
}

/**
 * Whether no earlier version has the same state. The times of a record answer that for almost all versions; of the
 * rest, the version before is read.
 */
async function isFirstOfState(
  bus: Bus,
  { subject, sequence }: PlacedMessage,
  { state, at, updatedAt }: Enrollment & { at: number },
): Promise<boolean> {
  if (updatedAt === at) return true;
  if (updatedAt - at > skewMs) return false;
  const filter = subject;
  const stream = streamName("enrollments");
  const versions = await readRange(bus, stream, { from: 1, count: maxVersions, filter });
  const before = versions.filter((version) => version.sequence < sequence).at(-1);
  if (before === undefined || before.data.length === 0) return true;
  return attempt(
    () => readEntry({}, { key: "", value: before.data, revision: before.sequence })?.record.state !== state,
    true,
  );
}
