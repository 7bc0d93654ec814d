import { dirname } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { fileVersion } from "../../base/files/file-version.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { readConfigFile } from "../../program/config/mod.ts";
import { noPolicy, type Policy } from "./policy.ts";
import { readPolicy } from "./read-policy.ts";

/** A change is in force within 10 s, also where the directory cannot be watched. */
const rescanMs = 5_000;

/** The policy of a master. */
export interface FollowedPolicy {
  readonly path: string;
  /** The last good one. */
  current(): Policy;
  /** What is wrong with the file as it is now, in one line with the place. */
  problem(): string | undefined;
  stop(): void;
}

/**
 * Reads a policy file. Without one there are no rules.
 *
 * @throws SvcError as `readPolicy`
 */
function loadPolicy(path: string): Policy {
  const text = readConfigFile(path);
  return text === undefined ? noPolicy : readPolicy(text, path);
}

/**
 * Follows a policy file. While it is broken, or missing after it was there, the last good policy stays in force.
 *
 * @param onChange called after the policy in force changed
 */
export function followPolicy(
  path: string,
  { clock, log, onChange }: { clock: Clock; log: Log; onChange?(policy: Policy): void },
): FollowedPolicy {
  let seen: string | undefined;
  let policy = noPolicy;
  let problem: string | undefined;
  const refresh = () => {
    const version = fileVersion(path);
    if (version === seen) return;
    const wasThere = seen !== undefined && seen !== "";
    seen = version;
    try {
      if (version === "" && (wasThere || problem !== undefined)) {
        throw new Error(`${path} does not exist any more: write rules: [] to end the policy`);
      }
      policy = loadPolicy(path);
      problem = undefined;
      if (version !== "") log.info("enrollment policy read", { file: path, rules: policy.rules.length });
      onChange?.(policy);
    } catch (thrown) {
      const kept = policy.rules.length === 0 ? "no rule is" : "the last good policy stays";
      problem = `${kept} in force: ${describeError(thrown)}`;
      log.error("the enrollment policy cannot be used", {
        file: path,
        reason: describeError(thrown),
        kept: policy.rules.length,
      });
    }
  };
  refresh();
  const watching = watchDirectory(dirname(path), {
    ...{ onChange: refresh, rescanMs, recursive: false, clock, log },
  });
  return {
    path,
    current: () => policy,
    problem: () => problem,
    stop: watching.stop,
  };
}
