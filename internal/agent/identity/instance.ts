import { existsSync, renameSync } from "node:fs";
import * as v from "valibot";
import { attempt, describeError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { keyPairFromSeed } from "../../identity/mod.ts";
import { readEnrollmentId } from "./enrollment-id.ts";
import type { IdentityFiles } from "./identity.ts";

/** What the file `instance` holds: which copy of the disk this is, and the machine it ran on last. */
const instanceSchema = v.object({
  /** Random, made with the file, and again on each copy. */
  instance: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
  /** Absent while the host had none. */
  machine_id: v.optional(v.string()),
  /** Until a host that is a copy has joined with a key of its own. */
  copy: v.optional(v.literal(true)),
});
type Instance = v.InferOutput<typeof instanceSchema>;

export interface HostIdentity {
  peelId: string;
  files: IdentityFiles;
  /** What else belongs to the identity, such as results that wait: files and directories. */
  belongings: readonly string[];
  /** The content of /etc/machine-id; `undefined` where the host has none, such as a container. */
  machineId: string | undefined;
  random: Random;
  log: Log;
}

/** What a name gets that belongs to the host that this one is a copy of. */
const aside = ".before";

/**
 * Finds out whether the disk of this host is a copy of that of another peel: its machine id is another one than at
 * the last start. Then it puts the keys, credentials and results of the other peel aside, so that this host asks to
 * join with a key of its own. A crash on the way is made good by the next start.
 *
 * A host without a machine id is recorded as it is. So is a host whose machine id is not known now.
 */
export function leaveTwin({ peelId, files, belongings, machineId, random, log }: HostIdentity): void {
  const known = readInstance(files.instance, log);
  const now = isMachineId(machineId) ? machineId : known?.machine_id;
  const isCopy = known?.machine_id !== undefined && known.machine_id !== now;
  if (known !== undefined && !isCopy && known.machine_id === now) return;
  if (isCopy) {
    const enrollment = readEnrollmentId(files.enrollment);
    const { seed, credentials, nextSeed, newSeed, oldSeed } = files;
    // The credentials go first: without them this host connects nowhere, wherever a crash ends this.
    for (const path of [credentials, files.enrollment, seed, nextSeed, newSeed, oldSeed, ...belongings]) {
      if (existsSync(path)) renameSync(path, `${path}${aside}`);
    }
    log.warn(
      "this host is a copy of another peel, as its machine-id changed: it asks to join with a new key",
      {
        peel_id: displayPeelId(peelId),
        ...(enrollment === undefined ? {} : { enrollment_id: enrollment }),
        next: `an operator revokes the record of the other peel with svc enroll revoke${enrollment === undefined ? "" : ` ${enrollment}`}, or gives this host another id; then restart it. The files of the other peel are kept as *${aside}`,
      },
    );
  }
  const instance = isCopy || known === undefined ? Buffer.from(random(16)).toString("hex") : known.instance;
  const next: Instance = {
    instance,
    ...(now === undefined ? {} : { machine_id: now }),
    ...(isCopy || known?.copy === true ? { copy: true } : {}),
  };
  try {
    writeFileAtomic(files.instance, `${JSON.stringify(next)}\n`, secretMode);
  } catch (thrown) {
    // A full disk ends no peel: the next start records it.
    log.warn("the instance of this peel is not recorded", {
      file: files.instance,
      reason: describeError(thrown),
    });
  }
}

/** The key of the peel that this host is a copy of, until it has joined with its own. */
export function copiedKey({ instance, seed }: Pick<IdentityFiles, "instance" | "seed">, log: Log) {
  if (readInstance(instance, log)?.copy !== true) return undefined;
  const text = readTextIfPresent(`${seed}${aside}`);
  return text === undefined ? undefined : attempt(() => keyPairFromSeed("user", text.trim()));
}

/** This host has joined: it is nobody's copy any more. */
export function settleCopy({ instance }: Pick<IdentityFiles, "instance">, log: Log): void {
  const { copy, ...known } = readInstance(instance, log) ?? {};
  if (copy === true) writeFileAtomic(instance, `${JSON.stringify(known)}\n`, secretMode);
}

/** systemd writes `uninitialized` until the first start of a host is complete. */
function isMachineId(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{32}$/.test(text);
}

/** @returns `undefined` without a file, and for one that cannot be read: then it is made again */
function readInstance(file: string, log: Log): Instance | undefined {
  const text = readTextIfPresent(file);
  if (text === undefined) return undefined;
  try {
    return v.parse(instanceSchema, JSON.parse(text));
  } catch (thrown) {
    log.warn("the file instance is damaged and made again: whether this host is a copy is not known now", {
      file,
      reason: describeError(thrown),
    });
    return undefined;
  }
}
