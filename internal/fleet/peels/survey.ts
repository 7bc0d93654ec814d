import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bucket, Stored } from "../../bus/storage/mod.ts";
import type { Heartbeat } from "../../wire/heartbeat.ts";
import { enrollmentStates } from "../enrollment/record/mod.ts";
import { type Directory, type Enrollments, loadEnrollment } from "../enrollment/store/mod.ts";
import type { ReleaseStanding } from "../releases/mod.ts";
import { clockDifferenceOf, readPeels } from "./heartbeats.ts";

const dayMs = 24 * 3600_000;
/** Credentials that end within this time are listed. */
const soonMs = 30 * dayMs;
/** An answer is one message: of a longer list the first ones are enough to act on. */
const maxListed = 5_000;
const atOnce = 16;

/** Where the peels of a fleet are surveyed. */
export interface SurveyDeps {
  directory: Pick<Directory, "caughtUp" | "countByState" | "members" | "memberOf" | "marked">;
  /** For the records of those that are marked: there are few. */
  enrollments: Enrollments;
  peelHeartbeats: Pick<Bucket, "entries">;
  /** How each environment stands to its newest release; absent where nobody judges releases. */
  releases?(): Promise<readonly ReleaseStanding[]>;
  clock: Pick<Clock, "now">;
}

/** Counts what is well, and lists what needs attention. */
export async function survey(deps: SurveyDeps) {
  const { directory } = deps;
  const [beats] = await Promise.all([readPeels(deps.peelHeartbeats), directory.caughtUp()]);
  const marked = await readMarked(deps);
  const members = directory.members();
  const alive = new Map(beats.map(({ key, version }) => [key, version]));
  const silent = members.filter((peel) => !alive.has(peel));
  const states = directory.countByState();
  return {
    states: Object.fromEntries(
      enrollmentStates.flatMap((state) => (states[state] === 0 ? [] : [[state, states[state]]])),
    ),
    alive: members.length - silent.length,
    silent: named(silent),
    silent_count: silent.length,
    versions: countBy(members.flatMap((peel) => alive.get(peel) ?? [])),
    insisting: beats.filter(({ administrators }) => administrators !== undefined).length,
    ...judgeBeats(beats),
    ...marked,
    ...endingOf(deps, members),
    ...(deps.releases === undefined ? {} : { releases: (await deps.releases()).map(shownStanding) }),
  };
}

const shownStanding = ({ environment, isReleased, version, operator, endsAt }: ReleaseStanding) => ({
  ...{ environment, is_released: isReleased },
  ...defined({ version, operator, ends_at: endsAt === undefined ? undefined : rfc3339(endsAt) }),
});

/** The first of a list, as people know them: such a list has no room for both forms of an id. */
const named = (peels: readonly string[]) => peels.slice(0, maxListed).map(displayPeelId);

function judgeBeats(beats: readonly Stored<Heartbeat>[]) {
  return {
    wrong_clocks: beats.flatMap((beat) => {
      const ahead = clockDifferenceOf(beat);
      return ahead === undefined ? [] : [{ peel_id: beat.key, ahead_ms: ahead }];
    }),
    refusing: beats.flatMap(({ key, commands_refused }) =>
      commands_refused === undefined ? [] : [{ peel_id: key, commands_refused }],
    ),
    full_disks: named(beats.flatMap(({ key, disk }) => (disk === undefined ? [] : [key]))),
    without_health: named(beats.flatMap(({ key, health }) => (health === undefined ? [] : [key]))),
  };
}

/** Those that are kept off the bus, and members whose identity two hosts appear to hold, or whose host was copied. */
async function readMarked({ directory, enrollments, clock }: SurveyDeps) {
  const suspended: { id: string; peel_id: string; at: string; reason: string }[] = [];
  const clones: { id: string; peel_id: string; seen_at: string }[] = [];
  const copied: { id: string; peel_id: string; copied_at: string }[] = [];
  await mapBounded(directory.marked(), { atOnce }, async (id) => {
    const found = await loadEnrollment(enrollments, id).catch(() => undefined);
    // It has just ended.
    if (found === undefined) return;
    const { peelId, suspended: since, cloneSuspected, cloneSeenAt, copiedAt, updatedAt } = found.record;
    if (since !== undefined) {
      suspended.push({ id, peel_id: peelId, at: rfc3339(since.at), reason: since.reason });
    }
    const isMember = directory.memberOf(peelId)?.id === id;
    if (copiedAt !== undefined && isMember && clock.now() - copiedAt < dayMs) {
      copied.push({ id, peel_id: peelId, copied_at: rfc3339(copiedAt) });
    }
    if (cloneSuspected === true && isMember) {
      clones.push({ id, peel_id: peelId, seen_at: rfc3339(cloneSeenAt ?? updatedAt) });
    }
  });
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
  return { suspended: suspended.sort(byId), clones: clones.sort(byId), copied: copied.sort(byId) };
}

/** How long the credentials of members last. */
function endingOf({ directory, clock }: SurveyDeps, members: readonly string[]) {
  const now = clock.now();
  const ends = members.flatMap((peel) => {
    const at = directory.memberOf(peel)?.credsExpiresAt;
    return at === undefined ? [] : [{ peel_id: peel, at }];
  });
  const within = (days: number) => ends.filter(({ at }) => at > now && at - now < days * dayMs).length;
  return {
    credentials: {
      ended: ends.filter(({ at }) => at <= now).length,
      within_7_days: within(7),
      within_30_days: within(30),
    },
    ending: ends
      .filter(({ at }) => at - now < soonMs)
      .sort((one, other) => one.at - other.at)
      .slice(0, maxListed)
      .map(({ peel_id, at }) => ({ peel_id, ends_at: rfc3339(at) })),
  };
}

function countBy(keys: readonly string[]): Record<string, number> {
  const counts = Map.groupBy(keys, (key) => key);
  return Object.fromEntries([...counts].map(([key, same]) => [key, same.length]));
}
