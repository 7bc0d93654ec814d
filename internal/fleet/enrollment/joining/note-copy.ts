import * as v from "valibot";
import { decodeBase64 } from "../../../base/base64.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { verifySignature } from "../../../identity/mod.ts";
import { copyMessage } from "../../../wire/enrollment-messages.ts";
import { publicKeyField } from "../../../wire/public-keys.ts";
import { memberStates, transition } from "../record/mod.ts";
import { type Directory, type Enrollments, loadEnrollment, saveEnrollment } from "../store/mod.ts";
import type { Submission } from "./validate.ts";

/** A copy that is refused asks again with each start. */
const notedForMs = 10 * 60_000;

const claim = v.object({ public_key: publicKeyField, signature: v.string() });

export interface NoteCopyDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "newestOf">;
  /** Reports to the reactor that the host of an enrollment was copied. */
  notifyOfCopy(id: string, peelId: string): Promise<void>;
  clock: Clock;
  log: Log;
}

/**
 * Takes note that the host that asks to join is a copy of another peel: it proves that it holds the key of that peel.
 * Nothing is thrown, and a claim without proof changes nothing: it decides nothing about the host that asks.
 */
export async function noteCopy(
  deps: NoteCopyDeps,
  { metadata, publicKey }: Submission,
  challenge: Uint8Array,
): Promise<void> {
  const { log, clock } = deps;
  const found = v.safeParse(claim, metadata?.copy_of);
  if (!found.success) return;
  const { public_key: copied, signature } = found.output;
  const bytes = decodeBase64(signature);
  if (bytes === undefined || !verifySignature("user", copied, copyMessage(challenge, publicKey), bytes))
    return;
  const { id } = deps.directory.newestOf(copied) ?? {};
  if (id === undefined || copied === publicKey) return;
  const attempt = async () => {
    const { record, revision } = await loadEnrollment(deps.enrollments, id);
    const now = clock.now();
    if (!memberStates.has(record.state) || now - (record.copiedAt ?? 0) < notedForMs) return undefined;
    const saved = await saveEnrollment(
      deps.enrollments,
      transition(record, { type: "note-copy" }, now),
      revision,
    );
    return saved === undefined ? conflict : saved.record;
  };
  try {
    const exhausted = `other requests are changing the enrollment ${id}`;
    const noted = await retryOnConflict(attempt, { exhausted });
    if (noted === undefined) return;
    log.warn("peel.copied", { enrollment_id: id, peel_id: noted.peelId });
    await deps.notifyOfCopy(id, noted.peelId);
  } catch (thrown) {
    log.error("the copy of a peel was not recorded", { enrollment_id: id, reason: describeError(thrown) });
  }
}
