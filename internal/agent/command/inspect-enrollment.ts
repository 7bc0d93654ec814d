import type { Finding } from "../../program/diagnosis/mod.ts";
import { enrollAgain, type IdentityFiles, loadKey, readEnrollmentId } from "../identity/mod.ts";
import type { MasterClient } from "../joining/mod.ts";
import { findEnrollment } from "../joining/mod.ts";

/**
 * What a master says against the enrollment of this peel. The bus refuses all credentials with the same words.
 *
 * @returns `undefined` where it says nothing against it, or does not answer
 */
export async function inspectEnrollment(
  files: IdentityFiles,
  master: Pick<MasterClient, "request">,
): Promise<Finding | undefined> {
  const id = readEnrollmentId(files.enrollment);
  if (id === undefined) return undefined;
  const found = await (async () => findEnrollment(master, loadKey(files.seed), 1))().catch(() => undefined);
  if (found?.id !== id) return undefined;
  if (found.state !== "revoked" && found.state !== "rejected") return undefined;
  return {
    level: "fail",
    message: `the enrollment ${id} of this peel was ${found.state}`,
    next: `if this host shall be a peel, ${enrollAgain(files)}`,
  };
}
