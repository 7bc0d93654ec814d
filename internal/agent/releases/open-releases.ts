import type { Clock } from "../../base/clock.ts";
import { attempt, describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Administrator } from "../../wire/administrators.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { decodeOperator, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { openRelease, type SignedRelease } from "../../wire/release.ts";
import { damagedEvent } from "../identity/mod.ts";
import { judgeRelease, type Verdict } from "./judge-release.ts";
import { readTaken, type Taken, type TakenRelease, writeTaken } from "./release-file.ts";
import { provenRecords, type SeenRecords, standingOf, withRecords } from "./standing.ts";

/** How many releases of an environment are remembered: their signers may end before they are used again. */
const maxOfEach = 16;

/** Releases as they come from a master, with the records that prove them. */
export interface OfferedReleases {
  releases: readonly Uint8Array[];
  records: readonly Uint8Array[];
}

/** The newest release of an environment, or why files of it do not run by themselves. */
export type Newest = { release: SignedRelease } | { reason: string | undefined };

/** The releases that a peel took, and the newest record that it saw of each operator. Both only grow. */
export interface OwnReleases {
  readonly records: SeenRecords;
  /** The greatest release of each environment, whole, for the masters. */
  readonly current: readonly Uint8Array[];
  /**
   * Takes what counts of this: records that lead to an administrator, and releases greater than those before. It is on
   * disk when this returns.
   *
   * @returns whether it took something
   * @throws SvcError `storage`
   */
  take(offered: OfferedReleases): boolean;
  newest(environment: string): Newest;
  /** Whether a release of exactly these files counts, of whatever version. It is not taken. */
  allows(
    wanted: { environment: string; snapshot: string },
    offered: OfferedReleases,
  ): true | { reason: string | undefined };
}

export interface ReleasesOptions {
  file: string;
  administrators: { readonly current: readonly Administrator[]; readonly fleet: string | undefined };
  /** `release_roles` */
  roles: readonly string[];
  /** `release_environments` */
  environments: readonly string[];
  clock: Pick<Clock, "now">;
  log: Log;
}

export function openReleases(options: ReleasesOptions): OwnReleases {
  const { administrators, log } = options;
  const own = openTaken(options);
  const takeRelease = (offered: TakenRelease): boolean => {
    const { environment, version, operator, snapshot } = offered.release;
    if (version <= (own.greatest(environment)?.release.version ?? 0)) return false;
    const verdict = own.judge(offered);
    if (verdict.is !== "good") {
      log.warn("a release is refused", { environment, version, reason: verdict.reason });
      return false;
    }
    own.add(offered);
    const files = shortSnapshot(snapshot);
    log.info("release taken", { environment, version, released_by: operator, snapshot: files });
    return true;
  };
  return {
    get records() {
      return own.taken.records;
    },
    get current() {
      const ofFleet = own.taken.releases.filter(({ release }) => release.fleet === administrators.fleet);
      const names = new Set(ofFleet.map(({ release }) => release.environment));
      return [...names].flatMap((name) => own.greatest(name)?.bytes ?? []);
    },
    take({ releases, records }) {
      if (own.damage !== undefined) return false;
      const isNewer = own.addRecords(recordsIn(records));
      return own.opened(releases).map(takeRelease).includes(true) || isNewer;
    },
    newest(environment) {
      if (own.damage !== undefined) return { reason: own.damage };
      const found = own.greatest(environment);
      if (found === undefined) return { reason: undefined };
      const verdict = own.judge(found);
      return verdict.is === "good" ? { release: found.release } : { reason: reasonOf(found, verdict.reason) };
    },
    allows({ environment, snapshot }, { releases, records }) {
      if (own.damage !== undefined) return { reason: own.damage };
      const given = recordsIn(records);
      let reason: string | undefined;
      for (const one of [...own.opened(releases), ...own.taken.releases]) {
        if (one.release.environment !== environment || one.release.snapshot !== snapshot) continue;
        const verdict = own.judge(one, given);
        if (verdict.is === "good") return true;
        reason ??= reasonOf(one, verdict.reason);
      }
      return { reason };
    },
  };
}

/** What is on disk, and how each release of it stands. */
function openTaken(options: ReleasesOptions) {
  const { file, administrators, roles, environments, clock, log } = options;
  let taken: Taken = { releases: [], records: new Map() };
  let damage: string | undefined;
  try {
    taken = readTaken(file);
  } catch (thrown) {
    const reason = describeError(thrown);
    damage = `the releases that this peel took cannot be read: ${reason}`;
    const next =
      "until it is restored, this peel runs no state files; delete it, and the peel takes the newest release that a master names";
    log.error(damagedEvent, { file, reason, next });
  }
  const judge = ({ release, seenAt }: TakenRelease, given: readonly SignedOperatorRecord[] = []): Verdict => {
    const { current, fleet } = administrators;
    const rules = { administrators: current, fleet, roles, environments };
    return judgeRelease(release, rules, standingOf(given, taken.records, current), seenAt);
  };
  const store = (next: Taken) => {
    writeTaken(file, next);
    taken = next;
  };
  return {
    damage,
    get taken() {
      return taken;
    },
    judge,
    /** The greatest of this fleet, those apart that are void. */
    greatest(environment: string): TakenRelease | undefined {
      const { fleet } = administrators;
      return taken.releases
        .filter(({ release }) => release.fleet === fleet && release.environment === environment)
        .filter((one) => judge(one).is !== "void")
        .at(-1);
    },
    /** What cannot be read is left out: it proves nothing. */
    opened: (offered: readonly Uint8Array[]): TakenRelease[] =>
      offered.flatMap((bytes) => {
        const known = taken.releases.find((one) => Buffer.from(one.bytes).equals(bytes));
        const release = known?.release ?? attempt(() => openRelease(bytes));
        return release === undefined ? [] : [known ?? { bytes, release, seenAt: clock.now() }];
      }),
    add: (one: TakenRelease) => store({ ...taken, releases: added(taken.releases, one) }),
    addRecords(given: readonly SignedOperatorRecord[]): boolean {
      const proven = provenRecords(given, taken.records, administrators.current, clock.now());
      if (proven.length === 0) return false;
      store({ ...taken, records: withRecords(taken.records, proven) });
      return true;
    },
  };
}

const reasonOf = ({ release }: TakenRelease, reason: string): string =>
  `release ${release.version} of ${release.environment} does not count: ${reason}`;

const recordsIn = (encoded: readonly Uint8Array[]): SignedOperatorRecord[] =>
  encoded.flatMap((bytes) => attempt(() => [decodeOperator(bytes)], []));

function added(releases: readonly TakenRelease[], one: TakenRelease): TakenRelease[] {
  const { fleet, environment, version } = one.release;
  const isSame = ({ release }: TakenRelease) =>
    release.fleet === fleet && release.environment === environment;
  const earlier = releases.filter(isSame).filter(({ release }) => release.version !== version);
  const all = [...earlier, one].toSorted((a, b) => a.release.version - b.release.version);
  return [...releases.filter((other) => !isSame(other)), ...all.slice(-maxOfEach)];
}
