import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { keyFile, readKeySlot, type SettingsKeyFiles } from "../../bus/accounts/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import { type FollowedFiles, followFiles } from "./follow-files.ts";

/** The keys of settings, as the auth directory of this master has them now. */
export interface SettingsKeys extends Omit<FollowedFiles<SettingsKeyFiles>, "stop"> {
  /** Public keys, the one in use first; none in a fleet that never had one. */
  readonly publicKeys: readonly string[];
}

/**
 * Follows `settings.seed` and `settings-next.seed` of the auth directory.
 *
 * @param options.keys as they were read at the start
 */
export function followSettingsKeys(options: {
  authDir: string;
  keys: SettingsKeyFiles;
  clock: Clock;
  log: Log;
}): SettingsKeys & { stop(): void } {
  const { authDir, keys: first, clock, log } = options;
  const followed = followFiles({
    ...{ authDir, first, clock, log },
    read(dir) {
      const found = readSettingsKeys(dir);
      // One that goes is not dropped: what it encrypts is still there.
      if (found.current === undefined && followed.current.current !== undefined) throw missing(dir);
      return found;
    },
    stateOf: (keys) => publicKeysOf(keys).join(),
    failed: "the keys of settings cannot be read; those that were read before stay in use",
    changed: (keys) => log.info("keys of settings reloaded", { keys: publicKeysOf(keys) }),
  });
  return {
    get current() {
      return followed.current;
    },
    get problem() {
      return followed.problem;
    },
    get publicKeys() {
      return publicKeysOf(followed.current);
    },
    onChange: followed.onChange,
    stop: followed.stop,
  };
}

/**
 * Reads both once.
 *
 * @throws SvcError `bad_request` naming the file that is malformed, or missing while the next one is there
 */
export function readSettingsKeys(authDir: string): SettingsKeyFiles {
  const found = readKeySlot(authDir, "settings");
  if (found.current === undefined && found.next !== undefined) throw missing(authDir);
  return found;
}

/** What `/readyz` says of them. */
export function judgeSettingsKeys(
  { current, problem }: Pick<SettingsKeys, "current" | "problem">,
  authDir: string,
): CheckResult {
  const seed = join(authDir, "settings.seed");
  const back = `restore ${seed} from the backup of this fleet, or copy it from auth_dir of another master`;
  if (problem !== undefined) return { status: "degraded", message: problem, next: back };
  if (current.current !== undefined) return { status: "up" };
  return {
    status: "degraded",
    message: `${seed} is missing`,
    next: `${back}; a fleet that never had one gets it by svc keys rotate settings --dir ${authDir}`,
  };
}

const publicKeysOf = ({ current, next }: SettingsKeyFiles): string[] =>
  [current, next].flatMap((pair) => (pair === undefined ? [] : [pair.publicKey]));

const missing = (authDir: string): SvcError =>
  new SvcError("bad_request", `${keyFile(authDir, "settings", "current")}: no such file`);
