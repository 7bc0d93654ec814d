import { secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type KeyPair, keyFingerprint } from "../../identity/mod.ts";
import { damagedEvent } from "./damaged-file.ts";
import { type IdentityFiles, loadKey } from "./identity.ts";
import { dropPendingKey, loadPendingKey, readPendingKey } from "./pending-key.ts";

/**
 * The keys of a peel. It has more than one while it changes its key: masters may know the old or the new one
 * when an answer is lost, and settings may be sealed to either.
 */
export interface KeyRing {
  /** The key of this peel. @throws SvcError `bad_request` when its file is missing or damaged */
  current(): KeyPair;
  /** A key that was sent to the masters for acceptance, if there is one. */
  next(): KeyPair | undefined;
  /** Makes the next key, or returns the one that was already sent to the masters. @throws SvcError `storage` */
  makeNext(random: Random): KeyPair;
  /** The current key, the next and the one before, as far as they exist: one of them opens what masters seal. */
  all(): KeyPair[];
  /** Masters know the next key: it becomes the current one. @throws SvcError `storage` */
  adopt(next: KeyPair): void;
  /** Masters do not know the next key and will not. @throws SvcError `storage` */
  dropNext(): void;
  /** Something that masters sealed to this key arrived. The key before the current one is then not needed. */
  seen(publicKey: string): void;
}

export function createKeyRing(files: Pick<IdentityFiles, "seed" | "newSeed" | "oldSeed">, log: Log): KeyRing {
  const current = () => loadKey(files.seed);
  /** A damaged file is treated as missing. */
  const whole = (file: string) => {
    const found = readPendingKey(file);
    if (found !== "damaged") return found;
    log.error(damagedEvent, {
      file,
      reason: "it does not contain a user seed",
      next: "nothing, while the peel connects; otherwise revoke the peel with svc enroll revoke, and enroll it again",
    });
    dropPendingKey(file);
    return undefined;
  };
  const next = () => {
    const found = whole(files.newSeed);
    if (found?.publicKey !== current().publicKey) return found;
    // The change was complete but for this file.
    dropPendingKey(files.newSeed);
    return undefined;
  };
  const adopt = (key: KeyPair) => {
    const before = current();
    if (before.publicKey !== key.publicKey) {
      writing(files.oldSeed, () => writeFileAtomic(files.oldSeed, `${before.seed}\n`, secretMode));
      writing(files.seed, () => writeFileAtomic(files.seed, `${key.seed}\n`, secretMode));
      log.info("the key of this peel was replaced", {
        fingerprint: keyFingerprint(key.publicKey),
        previous: keyFingerprint(before.publicKey),
      });
    }
    dropPendingKey(files.newSeed);
  };
  return {
    current,
    next,
    makeNext: (random) => next() ?? loadPendingKey(files.newSeed, random).key,
    all: () => [current(), next(), whole(files.oldSeed)].filter((key) => key !== undefined),
    adopt,
    dropNext: () => dropPendingKey(files.newSeed),
    seen(publicKey) {
      const pending = next();
      if (pending?.publicKey === publicKey) adopt(pending);
      if (current().publicKey === publicKey) dropPendingKey(files.oldSeed);
    },
  };
}
