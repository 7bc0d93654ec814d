import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import { type AccountKeyFiles, readAccountKeys } from "../../bus/accounts/mod.ts";
import type { AccountSigner, KeyPair } from "../../identity/mod.ts";

/** The signing keys of the peels' account, as the auth directory of this master has them now. */
export interface AccountKeys {
  /** What signs credentials of peels now: the account's own key, before it has a signing key. */
  readonly signer: KeyPair | AccountSigner;
  /** The public key of the next one, while it stands next to the current one. */
  readonly next: string | undefined;
  /** Public keys of the signing keys, the one that goes first. */
  readonly publicKeys: readonly string[];
  /** Signing keys that must count on the bus. */
  readonly wanted: readonly string[];
  /** Signing keys that must not. */
  readonly dropped: readonly string[];
  /** Why the files cannot be read; the keys that were read before stay in use. */
  readonly problem: string | undefined;
  /** Signs with the next key from now on. */
  useNext(): void;
  /** Calls `run` after each change of the files. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
}

export function followAccountKeys(options: {
  authDir: string;
  keys: AccountKeyFiles;
  /** The account's own key. */
  account: KeyPair;
  clock: Clock;
  log: Log;
}): AccountKeys & { stop(): void } {
  const { authDir, account, clock, log } = options;
  let keys = options.keys;
  let usesNext = false;
  let problem: string | undefined;
  const listeners = new Set<() => void>();
  const inUse = (): KeyPair | undefined => (usesNext ? keys.next : keys.current);
  const namesOf = () =>
    [keys.current, keys.next].flatMap((pair) => (pair === undefined ? [] : [pair.publicKey]));

  const read = () => {
    let found: AccountKeyFiles;
    try {
      found = readAccountKeys(authDir);
    } catch (thrown) {
      const reason = describeError(thrown);
      if (problem !== reason) {
        log.error("the signing keys of the account cannot be read; those that were read before stay in use", {
          reason,
        });
      }
      problem = reason;
      return;
    }
    problem = undefined;
    const stateOf = () => [...namesOf(), "", ...keys.dropped].join();
    const before = stateOf();
    const signedWith = inUse()?.publicKey;
    keys = found;
    usesNext = keys.next !== undefined && keys.next.publicKey === signedWith;
    if (before === stateOf()) return;
    log.info("signing keys of the account reloaded", { keys: namesOf(), dropped: keys.dropped });
    for (const run of [...listeners]) run();
  };
  const watching = watchDirectory(authDir, { onChange: read, recursive: false, clock, log });
  return {
    get signer() {
      const pair = inUse();
      return pair === undefined ? account : { ...pair, issuerAccount: account.publicKey };
    },
    get next() {
      return keys.next?.publicKey;
    },
    get publicKeys() {
      return namesOf();
    },
    get wanted() {
      // What does not sign any longer need not count: another master may have dropped it already.
      return usesNext && keys.next !== undefined ? [keys.next.publicKey] : namesOf();
    },
    get dropped() {
      return keys.dropped;
    },
    get problem() {
      return problem;
    },
    useNext() {
      if (usesNext || keys.next === undefined) return;
      usesNext = true;
      log.info("credentials are signed with the next signing key of the account", {
        key: keys.next.publicKey,
      });
    },
    onChange: (run) => subscribe(listeners, run),
    stop() {
      watching.stop();
      listeners.clear();
    },
  };
}
