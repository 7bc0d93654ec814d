import type { Clock } from "../../../base/clock.ts";
import { type SvcError, toSvcError } from "../../../base/errors.ts";
import { watchDirectory } from "../../../base/files/watch-directory.ts";
import type { Log } from "../../../base/log.ts";
import { waysOut } from "./argument-policy.ts";
import { type RuleSet, readRuleFiles, rulesOf } from "./load.ts";
import { unsafePlaces } from "./unsafe-places.ts";

/** Follows the rules of a directory. */
export interface RuleWatch {
  /** The last valid rule set; empty until there is one. */
  readonly current: RuleSet;
  /** The error in the current files, while `current` is unchanged. */
  readonly problem: SvcError | undefined;
  /** Checks the files now. */
  reload(): void;
  stop(): void;
}

interface WatchRulesOptions {
  clock: Clock;
  log: Log;
  /** Called with each new rule set except the first, which is the initial `current`. */
  onChange(rules: RuleSet): void;
}

/**
 * Loads the rules of a directory, and reloads them shortly after a file changes. If files are unreadable or
 * invalid, the previous rules stay in force.
 */
export function watchRules(directory: string, { clock, log, onChange }: WatchRulesOptions): RuleWatch {
  let current: RuleSet = { rules: [], refused: [], digest: "", files: [] };
  let problem: SvcError | undefined;
  let complaint: string | undefined;

  const load = (): boolean => {
    try {
      const files = readRuleFiles(directory);
      const isNew = files.digest !== current.digest;
      if (isNew) {
        current = rulesOf(files);
        logOpenPlaces(current, log);
      }
      if (isNew || problem !== undefined) {
        log.info("reactor rules loaded", { directory, rules: current.rules.length, digest: current.digest });
      }
      problem = undefined;
      complaint = undefined;
      return isNew;
    } catch (thrown) {
      problem = toSvcError(thrown);
      // The files are checked every minute. Log a problem only once.
      if (problem.message !== complaint) {
        log.error("reactor rules not loaded; the last valid rules stay in force", {
          directory,
          error: problem,
        });
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

/** Names the rules that are not in force, and those that trust their events. */
function logOpenPlaces({ rules, refused }: RuleSet, log: Log): void {
  for (const { name, places } of refused) {
    for (const { text } of places) {
      log.error("reactor rule refused; the other rules are in force", {
        rule: name,
        reason: text,
        next: waysOut,
      });
    }
  }
  for (const rule of rules) {
    for (const { text } of unsafePlaces(rule)) {
      log.warn("reactor rule is unsafe", { rule: rule.name, reason: text });
    }
  }
}
