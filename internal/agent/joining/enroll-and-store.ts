import { describeError, SvcError } from "../../base/errors.ts";
import { secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import {
  copiedKey,
  type IdentityFiles,
  loadOrCreateKey,
  settleCopy,
  storeEnrollmentId,
} from "../identity/mod.ts";
import type { Administrators, CommandKeys, RecoveryKeys } from "../trust/mod.ts";
import { type EnrollOptions, enrollPeel } from "./enroll.ts";

export interface EnrollAndStoreOptions extends Omit<EnrollOptions, "key" | "metadata" | "copied"> {
  files: Pick<IdentityFiles, "seed" | "enrollment" | "credentials" | "instance">;
  commandKeys: Pick<CommandKeys, "replace">;
  recoveryKeys: Pick<RecoveryKeys, "learn">;
  administrators: Pick<Administrators, "learn">;
  random: Random;
}

/**
 * Enrolls this peel, and stores what it got.
 *
 * @returns the id of the enrollment
 * @throws as `enrollPeel`; SvcError `storage` when it cannot be stored
 */
export async function enrollAndStore(options: EnrollAndStoreOptions): Promise<string> {
  const { files, peelId, log } = options;
  const enrolled = await enrollPeel({
    ...options,
    key: loadOrCreateKey(files.seed, options.random),
    copied: copiedKey(files, log),
    metadata: { os: process.platform, arch: process.arch },
  });
  try {
    // The command keys first: with credentials on disk the enrollment counts as done.
    options.commandKeys.replace(enrolled.commandKeys);
    options.recoveryKeys.learn(enrolled.recoveryKeys);
    options.administrators.learn(enrolled.administrators);
    storeEnrollmentId(files.enrollment, enrolled.enrollmentId);
    settleCopy(files, log);
    writing(files.credentials, () => writeFileAtomic(files.credentials, enrolled.credentials, secretMode));
  } catch (cause) {
    const reason = cause instanceof SvcError ? cause.message : describeError(cause);
    throw new SvcError(
      "storage",
      `${reason}: make room, and restart the peel; it recovers the credentials of ${enrolled.enrollmentId} then`,
      { cause },
    );
  }
  log.info("enrolled", { peel_id: displayPeelId(peelId), credentials: files.credentials });
  return enrolled.enrollmentId;
}
