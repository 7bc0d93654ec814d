import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { watchDirectory } from "../../base/watch-directory.ts";
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

/** @param options.keys as they were read at the start */
export function followCommandKeys(options: {
  authDir: string;
  keys: CommandKeyFiles;
  clock: Clock;
  log: Log;
}): Keyring & { stop(): void } {
  const { authDir, clock, log } = options;
  let keys = options.keys;
  let usesNext = false;
  let problem: string | undefined;
  const listeners = new Set<() => void>();
  const macs = new WeakMap<KeyPair, RecordMac>();
  const macOf = (pair: KeyPair): RecordMac => {
    const known = macs.get(pair);
    if (known !== undefined) return known;
    const made = createRecordMac(pair);
    macs.set(pair, made);
    return made;
  };
  const all = (): KeyPair[] => (keys.next === undefined ? [keys.current] : [keys.current, keys.next]);
  const inUse = (): KeyPair => (usesNext ? (keys.next ?? keys.current) : keys.current);
  const others = (id: string): RecordMac[] => [
    ...all()
      .filter((pair) => pair !== inUse())
      .map(macOf),
    ...keys.earlier.filter(({ records }) => records.has(id)).map(({ mac }) => mac),
  ];
  const mac: RecordMac = Object.assign((kind: string, content: unknown) => macOf(inUse())(kind, content), {
    others,
  });
  const announce = () => {
    for (const run of [...listeners]) run();
  };
  const namesOf = () => all().map(({ publicKey }) => publicKey);

  const read = () => {
    let found: CommandKeyFiles;
    try {
      found = readCommandKeys(authDir);
    } catch (thrown) {
      const reason = describeError(thrown);
      if (problem !== reason) {
        log.error("the command keys cannot be read; those that were read before stay in use", { reason });
      }
      problem = reason;
      return;
    }
    problem = undefined;
    const before = namesOf();
    const signedWith = inUse().publicKey;
    keys = found;
    // The next key may have become the current one meanwhile, and another one may be next.
    usesNext = keys.next?.publicKey === signedWith;
    if (before.join() === namesOf().join()) return;
    log.info("command keys reloaded", { keys: namesOf(), signs_with: inUse().publicKey });
    announce();
  };
  const watching = watchDirectory(authDir, { onChange: read, recursive: false, clock, log });
  return {
    signer: followingSigner(inUse, all),
    get first() {
      return keys.current;
    },
    get next() {
      return keys.next?.publicKey;
    },
    get publicKeys() {
      return namesOf();
    },
    get everyPublicKey() {
      return [...namesOf(), ...keys.earlier.map(({ publicKey }) => publicKey)];
    },
    mac,
    get problem() {
      return problem;
    },
    useNext() {
      if (usesNext || keys.next === undefined) return;
      usesNext = true;
      log.info("commands are signed with the next command key", { key: keys.next.publicKey });
      announce();
    },
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    stop() {
      watching.stop();
      listeners.clear();
    },
  };
}
