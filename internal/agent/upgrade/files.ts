import { unlinkSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { isErrno, makeDirectory, readTextIfPresent, secretMode, writeFileAtomic } from "../../base/file.ts";
import { instant } from "../../base/instant.ts";
import { writing } from "../../base/new-files.ts";

/** A binary that is on this host and verified, waiting for the watchdog. Written by the peel. */
export interface StagedUpgrade {
  /** The job that asked for it. */
  jid: string;
  /** Hexadecimal, of the binary. */
  sha256: string;
  version: string;
  /** The version of the peel that staged it. */
  from: string;
  /** How long it may take until it is ready, milliseconds. */
  readyWithinMs: number;
  /** It is not begun after this, milliseconds since the Unix epoch. */
  deadline: number;
}

/** How an upgrade ended. */
export interface UpgradeOutcome {
  jid: string;
  success: boolean;
  /** The version that was asked for, and the one from before. */
  version: string;
  from: string;
  /** Whether the binary was started, and the one from before again afterwards. */
  rolledBack: boolean;
  /** Why it failed; empty when it did not. */
  reason: string;
  /** Milliseconds since the Unix epoch. */
  at: number;
}

/** What the watchdog knows of upgrades. Written by the watchdog alone, each time as a whole. */
export interface UpgradeState {
  /** The binary that took the place of the packaged one. */
  current?: ActiveBinary;
  /** Digest of the binary that was current before. */
  previous?: string;
  /** The upgrade that is tried out and not yet decided. */
  trial?: StagedUpgrade;
  /** Of the last upgrade. */
  outcome?: UpgradeOutcome;
}

export interface ActiveBinary {
  sha256: string;
  version: string;
  /** Digest of the packaged executable at that time: it counts only as long as that one is there. */
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

/** What peel and watchdog tell each other, in files that are whole or not there. */
export interface UpgradeFiles {
  /** Holds everything of upgrades, for the owner alone. */
  readonly dir: string;
  /** Where the binary of this digest is. */
  binary(sha256: string): string;
  /** What waits for the watchdog; a file that cannot be read is none. */
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
  try {
    return v.parse(schema, JSON.parse(text));
  } catch {
    return undefined;
  }
}
