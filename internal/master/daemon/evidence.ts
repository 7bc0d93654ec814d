import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/file.ts";
import { fileVersion } from "../../base/file-version.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import type { EnrollDeps } from "../../fleet/enrollment/mod.ts";
import { loadX509 } from "../../identity/ca/mod.ts";
import {
  type EvidenceType,
  evidenceTypes,
  readAuthorities,
  readKnownHosts,
  verifySsh,
  verifyX509,
} from "../../identity/evidence/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";

/** The keys with the file that makes a master accept each type. */
export const evidenceFiles = {
  x509: "enroll.evidence.x509_ca",
  ssh: "enroll.evidence.ssh_known_hosts",
  tpm: "enroll.evidence.tpm_ca",
} as const satisfies Record<EvidenceType, keyof MasterConfig>;

/** A person corrects the file. */
const retryAfterMs = 60_000;

/** The evidence that a master accepts, and its verification. */
export interface AcceptedEvidence {
  types: EvidenceType[];
  verify: NonNullable<EnrollDeps["verifyEvidence"]>;
}

/**
 * Verifies evidence by the files of the configuration. Each is read again when it has changed. While one cannot be
 * read, evidence of its type is refused with 503, because the last good file may lack a key that was revoked.
 */
export function createEvidence(
  config: MasterConfig,
  { clock, log }: { clock: Clock; log: Log },
): AcceptedEvidence {
  const types = evidenceTypes.filter((type) => config[evidenceFiles[type]] !== "");
  const authorities = followFile(config[evidenceFiles.x509], log, async (text, path) =>
    readAuthorities(await loadX509(), text, path),
  );
  const known = followFile(config[evidenceFiles.ssh], log, readKnownHosts);
  return {
    types,
    async verify({ evidence, peelId, publicKey }, challenge) {
      if (evidence === undefined || !types.includes(evidence.type)) return undefined;
      const claim = { challenge, publicKey, host: displayPeelId(peelId) };
      switch (evidence.type) {
        case "x509": {
          const rules = { x509: await loadX509(), trusted: await authorities(), now: clock.now() };
          return verifyX509(evidence, claim, { ...rules, names: config["enroll.evidence.x509_names"] });
        }
        case "ssh":
          return verifySsh(evidence, claim, { known: await known(), now: clock.now() });
      }
    },
  };
}

/**
 * Returns what a file says, and reads it again when it has changed.
 *
 * @returns throws SvcError `unavailable` while it cannot be read; the reason is in the log only
 */
function followFile<T>(
  path: string,
  log: Log,
  read: (text: string, path: string) => T | Promise<T>,
): () => Promise<T> {
  let last: { version: string; value: Promise<T> } | undefined;
  return async () => {
    const version = fileVersion(path);
    if (last?.version !== version) {
      last = { version, value: (async () => read(readTextFile(path, "the evidence file"), path))() };
      last.value.catch((thrown: unknown) =>
        log.error("evidence cannot be verified", { file: path, error: describeError(thrown) }),
      );
    }
    return last.value.catch((cause: unknown) => {
      const message = "this master cannot verify evidence now: its log has the reason";
      throw new SvcError("unavailable", message, { cause, retryAfterMs });
    });
  };
}
