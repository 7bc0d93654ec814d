import { unlinkSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import {
  isErrno,
  makeDirectory,
  readTextIfPresent,
  secretMode,
  writeFileAtomic,
} from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { instant } from "../../base/instant.ts";

/** A verified binary on this host that waits for the watchdog. Written by the peel. */
export interface StagedUpgrade {
  /** The job that requested it. */
  jid: string;
  /** Hexadecimal, of the binary. */
  sha256: string;
  version: string;
  /** The version of the peel that staged it. */
  from: string;
  /** Timeout until it is ready, milliseconds. */
  readyWithinMs: number;
  /** The upgrade does not begin after this time, milliseconds since the Unix epoch. */
  deadline: number;
}

/** How an upgrade ended. */
export interface UpgradeOutcome {
  jid: string;
  success: boolean;
  /** The requested version, and the previous one. */
  version: string;
  from: string;
  /** Whether the binary was started and then rolled back to the previous one. */
  rolledBack: boolean;
  /** Why it failed; empty on success. */
  reason: string;
  /** Milliseconds since the Unix epoch. */
  at: number;
}

/** The state of upgrades. Only the watchdog writes it, always as a whole. */
export interface UpgradeState {
  /** The binary that replaced the packaged one. */
  current?: ActiveBinary;
  /** Digest of the previous binary. */
  previous?: string;
  /** The upgrade on trial. */
  trial?: StagedUpgrade;
  /** The outcome of the last upgrade. */
  outcome?: UpgradeOutcome;
}

export interface ActiveBinary {
  sha256: string;
  version: string;
  /** Digest of the packaged executable at that time. The binary is used only while that one is installed. */
  packaged: string;
}

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const stagedSchema = v.pipe(
  v.object({
    jid: v.string(),
    sha256: digest,
    version: v.string(),
    from: v.string(),
    ready_within_ms: v.number(),
    deadline: instant,
  }),
  v.transform(({ ready_within_ms, ...rest }): StagedUpgrade => ({ ...rest, readyWithinMs: ready_within_ms })),
);
const outcomeSchema = v.pipe(
  v.object({
    jid: v.string(),
    success: v.boolean(),
    version: v.string(),
    from: v.string(),
    rolled_back: v.boolean(),
    reason: v.string(),
    at: instant,
  }),
  v.transform(({ rolled_back, ...rest }): UpgradeOutcome => ({ ...rest, rolledBack: rolled_back })),
);
const stateSchema = v.object({
  current: v.exactOptional(v.object({ sha256: digest, version: v.string(), packaged: digest })),
  previous: v.exactOptional(digest),
  trial: v.exactOptional(stagedSchema),
  outcome: v.exactOptional(outcomeSchema),
});

/** The files through which peel and watchdog communicate. They are complete or absent. */
export interface UpgradeFiles {
  /** Directory of all upgrade files, accessible only by the owner. */
  readonly dir: string;
  /** Path of the binary with this digest. */
  binary(sha256: string): string;
  /** The staged upgrade; `undefined` also for an unreadable file. */
  request(): StagedUpgrade | undefined;
  /** @throws SvcError `storage` */
  writeRequest(staged: StagedUpgrade): void;
  removeRequest(): void;
  state(): UpgradeState;
  /** @throws SvcError `storage` */
  writeState(state: UpgradeState): void;
}

/** @param dataDir `SVC_DATA_DIR` of the peel */
export function upgradeFiles(dataDir: string): UpgradeFiles {
  const dir = join(dataDir, "upgrade");
  const requestPath = join(dir, "request.json");
  const statePath = join(dir, "state.json");
  const write = (path: string, value: unknown) =>
    writing(path, () => {
      makeDirectory(dir, 0o700);
      writeFileAtomic(path, `${JSON.stringify(value, undefined, 2)}\n`, secretMode);
    });
  return {
    dir,
    binary: (sha256) => join(dir, sha256, "svc-peel"),
    request: () => read(requestPath, stagedSchema),
    writeRequest: (staged) => write(requestPath, stagedFields(staged)),
    removeRequest() {
      try {
        unlinkSync(requestPath);
      } catch (cause) {
        if (!isErrno(cause, "ENOENT")) throw cause;
      }
    },
    state: () => read(statePath, stateSchema) ?? {},
    writeState({ trial, outcome, ...rest }) {
      write(statePath, {
        ...rest,
        ...(trial === undefined ? {} : { trial: stagedFields(trial) }),
        ...(outcome === undefined ? {} : { outcome: outcomeFields(outcome) }),
      });
    },
  };
}

function stagedFields({ readyWithinMs, deadline, ...rest }: StagedUpgrade) {
  return { ...rest, ready_within_ms: readyWithinMs, deadline: rfc3339(deadline) };
}

function outcomeFields({ rolledBack, at, ...rest }: UpgradeOutcome) {
  return { ...rest, rolled_back: rolledBack, at: rfc3339(at) };
}

function read<T>(path: string, schema: v.GenericSchema<unknown, T>): T | undefined {
  const text = readTextIfPresent(path);
  if (text === undefined) return undefined;
  return attempt(() => v.parse(schema, JSON.parse(text)));
}
