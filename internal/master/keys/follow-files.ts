import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";

/** Files of the auth directory, as they were last read whole. */
export interface FollowedFiles<Value> {
  readonly current: Value;
  /** Why they cannot be read; what was read before stays in use. */
  readonly problem: string | undefined;
  /** Calls `run` after each change. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
  stop(): void;
}

/**
 * Follows files of the auth directory.
 *
 * @param options.first as they were read at the start
 * @param options.read throws when they cannot be read
 * @param options.stateOf equal for equal values. Not secret
 * @param options.failed what the log says when they cannot be read
 * @param options.changed called with what replaces another value, before those that subscribed
 */
export function followFiles<Value>(options: {
  authDir: string;
  first: Value;
  read(authDir: string): Value;
  stateOf(value: Value): string;
  failed: string;
  changed(value: Value, before: Value): void;
  clock: Clock;
  log: Log;
}): FollowedFiles<Value> {
  const { authDir, read, stateOf, clock, log } = options;
  let current = options.first;
  let problem: string | undefined;
  const listeners = new Set<() => void>();
  const onChange = () => {
    const before = current;
    try {
      current = read(authDir);
      problem = undefined;
    } catch (thrown) {
      const reason = describeError(thrown);
      if (problem !== reason) log.error(options.failed, { reason });
      problem = reason;
      return;
    }
    if (stateOf(current) === stateOf(before)) return;
    options.changed(current, before);
    for (const run of [...listeners]) run();
  };
  const watching = watchDirectory(authDir, { onChange, recursive: false, clock, log });
  return {
    get current() {
      return current;
    },
    get problem() {
      return problem;
    },
    onChange: (run) => subscribe(listeners, run),
    stop() {
      watching.stop();
      listeners.clear();
    },
  };
}
