import type { Clock } from "../../base/clock.ts";
import { type SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { watchDirectory } from "../../base/watch-directory.ts";
import { type RuleSet, readRuleFiles, rulesOf } from "./load.ts";

/** The rules of a directory as they change. */
export interface RuleWatch {
  /** The last set that could be read; empty until there was one. */
  readonly current: RuleSet;
  /** What is wrong with the files now, while `current` stays what it was. */
  readonly problem: SvcError | undefined;
  /** Looks at the files now. */
  reload(): void;
  stop(): void;
}

interface WatchRulesOptions {
  clock: Clock;
  log: Log;
  /** Called with each new set, but not for the first, which is `current` from the beginning. */
  onChange(rules: RuleSet): void;
}

/**
 * Loads the rules of a directory, and again shortly after a file changed. Files that cannot be read, or say
 * something wrong, leave the rules as they were.
 */
export function watchRules(directory: string, { clock, log, onChange }: WatchRulesOptions): RuleWatch {
  let current: RuleSet = { rules: [], digest: "", files: [] };
  let problem: SvcError | undefined;
  let complaint: string | undefined;

  const load = (): boolean => {
    try {
      const files = readRuleFiles(directory);
      const isNew = files.digest !== current.digest;
      if (isNew) current = rulesOf(files);
      if (isNew || problem !== undefined) {
        log.info("reactor rules loaded", { directory, rules: current.rules.length, digest: current.digest });
      }
      problem = undefined;
      complaint = undefined;
      return isNew;
    } catch (thrown) {
      problem = toSvcError(thrown);
      // The files are looked at every minute, and one record tells it.
      if (problem.message !== complaint) {
        log.error("reactor rules not loaded; the last good ones stay", { directory, error: problem });
      }
      complaint = problem.message;
      return false;
    }
  };
  const reload = () => {
    if (load()) onChange(current);
  };
  load();
  const watching = watchDirectory(directory, { onChange: reload, clock, log });
  return {
    get current() {
      return current;
    },
    get problem() {
      return problem;
    },
    reload,
    stop: watching.stop,
  };
}
