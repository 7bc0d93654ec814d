import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { type AccountKeyFiles, readAccountKeys } from "../../bus/accounts/mod.ts";
import type { AccountSigner, KeyPair } from "../../identity/mod.ts";
import { followFiles } from "./follow-files.ts";

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
  let usesNext = false;
  const inUse = ({ current, next }: AccountKeyFiles): KeyPair | undefined => (usesNext ? next : current);
  const followed = followFiles({
    ...{ authDir, first: options.keys, read: readAccountKeys, clock, log },
    stateOf: (keys) => [...namesOf(keys), "", ...keys.dropped].join(),
    failed: "the signing keys of the account cannot be read; those that were read before stay in use",
    changed(keys, before) {
      // The next key may have become the current one meanwhile.
      const signedWith = inUse(before)?.publicKey;
      usesNext = keys.next !== undefined && keys.next.publicKey === signedWith;
      log.info("signing keys of the account reloaded", { keys: namesOf(keys), dropped: keys.dropped });
    },
  });
  return {
    get signer() {
      const pair = inUse(followed.current);
      return pair === undefined ? account : { ...pair, issuerAccount: account.publicKey };
    },
    get next() {
      return followed.current.next?.publicKey;
    },
    get publicKeys() {
      return namesOf(followed.current);
    },
    get wanted() {
      // What does not sign any longer need not count: another master may have dropped it already.
      const { next } = followed.current;
      return usesNext && next !== undefined ? [next.publicKey] : namesOf(followed.current);
    },
    get dropped() {
      return followed.current.dropped;
    },
    get problem() {
      return followed.problem;
    },
    useNext() {
      const { next } = followed.current;
      if (usesNext || next === undefined) return;
      usesNext = true;
      log.info("credentials are signed with the next signing key of the account", { key: next.publicKey });
    },
    onChange: followed.onChange,
    stop: followed.stop,
  };
}

const namesOf = ({ current, next }: AccountKeyFiles): string[] =>
  [current, next].flatMap((pair) => (pair === undefined ? [] : [pair.publicKey]));
