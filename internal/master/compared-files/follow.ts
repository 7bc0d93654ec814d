import { dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import { deriveSettingsKey } from "../../identity/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { OtherMasters, SettingsKeys } from "../keys/mod.ts";
import {
  createPatience,
  type Difference,
  describeDifference,
  findDifferences,
  type ReportedFiles,
} from "./compare.ts";
import { createDigests, type Digests, digestOfLines, type Place } from "./digest.ts";

/** Files are copied to one master after the other. */
const patienceMs = 60_000;
const rescanMs = 30_000;

export interface ComparedFiles {
  /** For the heartbeat, by kind; `undefined` until they are read, and without a key. */
  report(): Readonly<Record<string, Uint8Array>> | undefined;
  /** `files` of /readyz. */
  check(): CheckResult;
  stop(): void;
}

export interface ComparedFilesOptions {
  /** By kind, those that each master reads from its own host. */
  places: Readonly<Record<string, Place>>;
  authDir: string;
  keys: SettingsKeys;
  others: Pick<OtherMasters, "current">;
  /** How long files may differ; a minute unless given. */
  patienceMs?: number;
  clock: Clock;
  log: Log;
}

/** Follows the files that masters read from their own host, and compares them with those of the other masters. */
export function followComparedFiles(options: ComparedFilesOptions): ComparedFiles {
  const { places, authDir, keys, others, clock } = options;
  const reading = followDigests(options);
  const patience = createPatience(options.patienceMs ?? patienceMs);
  const kinds = Object.keys(places);
  const pathOf = ({ what }: Difference) => places[what]?.path ?? join(authDir, what);
  const findLasting = () => {
    const pair = keys.current.current;
    const own: ReportedFiles = { name: "", settingsKeys: keys.publicKeys, files: reading.files() };
    const empty = pair === undefined ? new Uint8Array() : digestOfLines(deriveSettingsKey(pair, "files"), []);
    return patience.lasting(findDifferences(own, others.current(), { kinds, empty }), clock.monotonic());
  };
  return {
    report() {
      // Each heartbeat looks, so that a difference counts from when it began.
      findLasting();
      return reading.files();
    },
    check() {
      const lasting = findLasting();
      const problem = reading.problem();
      if (problem !== undefined) {
        return { status: "degraded", message: problem, next: "let the user of svc-master read it" };
      }
      if (lasting.length === 0) return { status: "up" };
      return {
        status: "degraded",
        message: lasting.map((one) => describeDifference(one, pathOf(one))).join("; "),
        next: `copy what is right from one master to the other: ${[...new Set(lasting.map(pathOf))].join(", ")}`,
      };
    },
    stop: reading.stop,
  };
}

/** Reads the files again when they or the key change. */
function followDigests({ places, keys, clock, log }: ComparedFilesOptions) {
  let made: { publicKey: string; digests: Digests } | undefined;
  let files: Readonly<Record<string, Uint8Array>> | undefined;
  let problem: string | undefined;
  const read = async () => {
    const pair = keys.current.current;
    if (pair === undefined) {
      files = undefined;
      return;
    }
    if (made?.publicKey !== pair.publicKey) {
      made = { publicKey: pair.publicKey, digests: createDigests(deriveSettingsKey(pair, "files")) };
      files = undefined;
    }
    const { digests } = made;
    const found: Record<string, Uint8Array> = {};
    for (const [kind, place] of Object.entries(places)) {
      const digest = await digests.digest(place);
      if (digest !== undefined) found[kind] = digest;
    }
    files = found;
  };
  const readAgain = shareRuns(async () => {
    problem = await read().then(
      () => undefined,
      (thrown) => {
        const reason = describeError(thrown);
        if (reason !== problem) log.error("files cannot be compared with other masters", { reason });
        // What was read before may have changed since.
        files = undefined;
        return reason;
      },
    );
  });
  const refresh = () => void readAgain();
  const watched = Object.values(places).map(({ path, is }) =>
    watchDirectory(is === "directory" ? path : dirname(path), {
      ...{ onChange: refresh, rescanMs, recursive: is === "directory", clock, log },
      onUnwatched() {
        // Looking at it now and then finds the changes.
      },
    }),
  );
  const forget = keys.onChange(refresh);
  refresh();
  return {
    files: () => files,
    problem: () => problem,
    stop() {
      forget();
      for (const one of watched) one.stop();
    },
  };
}
