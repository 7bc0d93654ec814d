import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import {
  createFileAtomic,
  readTextIfPresent,
  secretMode,
  syncDirectory,
  writeFileAtomic,
} from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";

/**
 * A key that masters will be requested to accept. It is on disk before the request: after a crash the peel sends the
 * same key again, and masters answer the same.
 */
export interface PendingKey {
  key: KeyPair;
  /** No master was asked for it yet. */
  isNew: boolean;
  /** There was a file without a whole key. Masters may have accepted that key. */
  isDamaged: boolean;
}

/** Reads the pending key, or makes one. @throws SvcError `storage` when it cannot be kept */
export function loadPendingKey(file: string, random: Random): PendingKey {
  const kept = readPendingKey(file);
  if (kept !== undefined && kept !== "damaged") return { key: kept, isNew: false, isDamaged: false };
  const key = newKeyPair("user", random);
  const text = `${key.seed}\n`;
  writing(file, () =>
    kept === undefined ? createFileAtomic(file, text, secretMode) : writeFileAtomic(file, text, secretMode),
  );
  return { key, isNew: true, isDamaged: kept === "damaged" };
}

/** The pending key; `undefined` when there is none. */
export function readPendingKey(file: string): KeyPair | "damaged" | undefined {
  try {
    const text = readTextIfPresent(file);
    return text === undefined ? undefined : keyPairFromSeed("user", text);
  } catch {
    return "damaged";
  }
}

/** Forgets the pending key. @throws SvcError `storage` */
export function dropPendingKey(file: string): void {
  if (!existsSync(file)) return;
  writing(file, () => {
    rmSync(file, { force: true });
    syncDirectory(dirname(file));
  });
}
