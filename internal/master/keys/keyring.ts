import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import { type CommandKeyFiles, readCommandKeys } from "../../bus/accounts/mod.ts";
import {
  createRecordMac,
  followingSigner,
  type KeyPair,
  type RecordMac,
  type Signer,
} from "../../identity/mod.ts";

/** The command keys of this master, as its auth directory has them now. */
export interface Keyring {
  /** The key that signs now. */
  readonly signer: Signer;
  /** The one that goes first; without a next key it is the only one. It stays the same while a key is replaced. */
  readonly first: KeyPair;
  /** The public key of the next key, while one stands next to the current one. */
  readonly next: string | undefined;
  /** Public keys whose signatures count, the one that goes first. */
  readonly publicKeys: readonly string[];
  /** Public keys that the fleet has or had: those whose signatures count, and replaced ones. */
  readonly everyPublicKey: readonly string[];
  /** Made with the key that signs; verified with all, and with replaced ones where their records are still open. */
  readonly mac: RecordMac;
  /** Why the files cannot be read; the keys that were read before stay in use. */
  readonly problem: string | undefined;
  /** Signs with the next key from now on. */
  useNext(): void;
  /** Calls `run` after each change of the keys or of the one that signs. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
}

/** What the auth directory held, and how it is used. */
interface Followed {
  keys: CommandKeyFiles;
  usesNext: boolean;
  problem: string | undefined;
}

/** @param options.keys as they were read at the start */
export function followCommandKeys(options: {
  authDir: string;
  keys: CommandKeyFiles;
  clock: Clock;
  log: Log;
}): Keyring & { stop(): void } {
  const { authDir, clock, log } = options;
  const followed: Followed = { keys: options.keys, usesNext: false, problem: undefined };
  const listeners = new Set<() => void>();
  const announce = () => {
    for (const run of [...listeners]) run();
  };
  const onChange = () => {
    if (readKeys(followed, authDir, log)) announce();
  };
  const watching = watchDirectory(authDir, { onChange, recursive: false, clock, log });
  return {
    signer: followingSigner(
      () => inUse(followed),
      () => all(followed),
    ),
    get first() {
      return followed.keys.current;
    },
    get next() {
      return followed.keys.next?.publicKey;
    },
    get publicKeys() {
      return namesOf(followed);
    },
    get everyPublicKey() {
      return [...namesOf(followed), ...followed.keys.earlier.map(({ publicKey }) => publicKey)];
    },
    mac: followingMac(followed),
    get problem() {
      return followed.problem;
    },
    useNext() {
      const { next } = followed.keys;
      if (followed.usesNext || next === undefined) return;
      followed.usesNext = true;
      log.info("commands are signed with the next command key", { key: next.publicKey });
      announce();
    },
    onChange: (run) => subscribe(listeners, run),
    stop() {
      watching.stop();
      listeners.clear();
    },
  };
}

const all = ({ keys }: Followed): KeyPair[] =>
  keys.next === undefined ? [keys.current] : [keys.current, keys.next];

const inUse = ({ keys, usesNext }: Followed): KeyPair =>
  usesNext ? (keys.next ?? keys.current) : keys.current;

const namesOf = (followed: Followed): string[] => all(followed).map(({ publicKey }) => publicKey);

/** Codes of the key that signs now; the others verify. */
function followingMac(followed: Followed): RecordMac {
  const macs = new WeakMap<KeyPair, RecordMac>();
  const macOf = (pair: KeyPair): RecordMac => {
    const mac = macs.get(pair) ?? createRecordMac(pair);
    macs.set(pair, mac);
    return mac;
  };
  return Object.assign((kind: string, content: unknown) => macOf(inUse(followed))(kind, content), {
    others: (id: string) => [
      ...all(followed)
        .filter((pair) => pair !== inUse(followed))
        .map(macOf),
      ...followed.keys.earlier.filter(({ records }) => records.has(id)).map(({ mac }) => mac),
    ],
  });
}

/** @returns whether other keys are there than before */
function readKeys(followed: Followed, authDir: string, log: Log): boolean {
  let found: CommandKeyFiles;
  try {
    found = readCommandKeys(authDir);
  } catch (thrown) {
    const reason = describeError(thrown);
    if (followed.problem !== reason) {
      log.error("the command keys cannot be read; those that were read before stay in use", { reason });
    }
    followed.problem = reason;
    return false;
  }
  followed.problem = undefined;
  const before = namesOf(followed);
  const signedWith = inUse(followed).publicKey;
  followed.keys = found;
  // The next key may have become the current one meanwhile, and another one may be next.
  followed.usesNext = found.next?.publicKey === signedWith;
  if (before.join() === namesOf(followed).join()) return false;
  log.info("command keys reloaded", { keys: namesOf(followed), signs_with: inUse(followed).publicKey });
  return true;
}
