import { publicMode, readTextIfPresent, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { validKeys } from "./valid-keys.ts";

/** The public keys whose commands this peel accepts, stored in a file. */
export interface CommandKeys {
  readonly current: readonly string[];
  /**
   * Replaces the list. It must come from a master over verified TLS: the bus is not trusted to name keys.
   * A list without a valid key is ignored.
   *
   * @throws SvcError `storage` when it cannot be stored
   */
  replace(keys: readonly string[]): void;
  /** Whether a list contains other keys than the current one. */
  differs(keys: readonly string[]): boolean;
}

export function createCommandKeys(file: string, log: Log): CommandKeys {
  let current = validKeys(readTextIfPresent(file)?.split("\n") ?? []);
  const differs = (keys: readonly string[]) => {
    const next = validKeys(keys);
    return next.length > 0 && new Set(next).symmetricDifference(new Set(current)).size > 0;
  };
  return {
    get current() {
      return current;
    },
    differs,
    replace(keys) {
      if (!differs(keys)) return;
      const next = validKeys(keys);
      writing(file, () => writeFileAtomic(file, `${next.join("\n")}\n`, publicMode));
      if (current.length > 0) log.info("command keys replaced", { keys: next });
      current = next;
    },
  };
}
