import { existsSync } from "node:fs";
import { attempt } from "../../base/errors.ts";
import { createFileAtomic, readTextIfPresent, secretMode } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { parseRecoveryKeys } from "../../identity/succession/mod.ts";
import { validKeys } from "./valid-keys.ts";

/** The public keys whose succession this peel accepts, stored in a file. */
export interface RecoveryKeys {
  /** None when the peel has learned none yet, and when the file is damaged. */
  readonly current: readonly string[];
  /**
   * Keeps the first list that has a valid key. It must come from a master over verified TLS. What is kept is
   * replaced by a statement of succession and nothing else: an attacker who controls a master has its certificate as well.
   *
   * @throws SvcError `storage` when it cannot be stored
   */
  learn(keys: readonly string[]): void;
  /** Whether this peel has no keys, and the list does. */
  lacks(keys: readonly string[]): boolean;
}

export function createRecoveryKeys(file: string, log: Log): RecoveryKeys {
  // A damaged file is still one: what it held is not known, so nothing takes its place.
  const lacks = (keys: readonly string[]) => validKeys(keys).length > 0 && !existsSync(file);
  return {
    get current() {
      const text = readTextIfPresent(file);
      return attempt(() => (text === undefined ? [] : parseRecoveryKeys(file, text)), []);
    },
    lacks,
    learn(keys) {
      if (!lacks(keys)) return;
      const kept = validKeys(keys);
      writing(file, () => createFileAtomic(file, `${kept.join("\n")}\n`, secretMode));
      log.info("recovery keys learned", { keys: kept });
    },
  };
}
