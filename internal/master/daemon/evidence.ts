import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { fileVersion } from "../../base/files/file-version.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { EnrollDeps } from "../../fleet/enrollment/joining/mod.ts";
import type { ChallengeTpmDeps } from "../../fleet/enrollment/mod.ts";
import { loadX509 } from "../../identity/ca/mod.ts";
import {
  challengeTpm,
  type EvidenceType,
  evidenceTypes,
  readAuthorities,
  readKnownHosts,
  type TpmRules,
  verifySsh,
  verifyTpm,
  verifyX509,
} from "../../identity/evidence/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";

/** The keys with the file that makes a master accept each type. */
const files = {
  x509: "enroll.evidence.x509_ca",
  ssh: "enroll.evidence.ssh_known_hosts",
  tpm: "enroll.evidence.tpm_ca",
} as const satisfies Record<EvidenceType, keyof MasterConfig>;

const readPem = async (text: string, path: string) => readAuthorities(await loadX509(), text, path);
const readers = {
  x509: readPem,
  tpm: readPem,
  ssh: async (text: string, path: string) => readKnownHosts(text, path),
};

/** A person corrects the file. */
const retryAfterMs = 60_000;

interface EvidenceDeps {
  clock: Clock;
  random: Random;
  /** All masters have the same. */
  recordMac: RecordMac;
  log: Log;
}

/** The evidence that a master accepts, and its verification. */
export interface AcceptedEvidence {
  types: EvidenceType[];
  verify: NonNullable<EnrollDeps["verifyEvidence"]>;
  challengeTpm: NonNullable<ChallengeTpmDeps["challengeTpm"]>;
}

/**
 * Verifies evidence by the files of the configuration. Each is read again when it has changed. While one cannot be
 * read, evidence of its type is refused with 503, because the last good file may lack a key that was revoked.
 */
export function createEvidence(
  config: MasterConfig,
  { clock, random, recordMac, log }: EvidenceDeps,
): AcceptedEvidence {
  const types = acceptedTypes(config);
  const authorities = followFile(config[files.x509], log, readers.x509);
  const makers = followFile(config[files.tpm], log, readers.tpm);
  const tpmRules = async (): Promise<TpmRules> => ({
    ...{ x509: await loadX509(), trusted: await makers(), now: clock.now() },
    secretFor: (content) => recordMac("tpm-credential", content),
  });
  const known = followFile(config[files.ssh], log, readers.ssh);
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
        case "tpm":
          return verifyTpm(evidence, claim, await tpmRules());
        case "ssh":
          return verifySsh(evidence, claim, { known: await known(), now: clock.now() });
      }
    },
    async challengeTpm(keys, { challenge, publicKey, peelId }) {
      const claim = { challenge, publicKey, host: displayPeelId(peelId) };
      return challengeTpm(keys, claim, { ...(await tpmRules()), random });
    },
  };
}

/**
 * Reads the files of the configuration as a master does.
 *
 * @returns the types that the master accepts
 * @throws SvcError `bad_request` that names a file, and what is wrong in it
 */
export async function inspectEvidence(config: MasterConfig): Promise<EvidenceType[]> {
  const types = acceptedTypes(config);
  for (const type of types) {
    const path = config[files[type]];
    await readers[type](readTextFile(path, files[type]), path);
  }
  return types;
}

function acceptedTypes(config: MasterConfig): EvidenceType[] {
  return evidenceTypes.filter((type) => config[files[type]] !== "");
}

/**
 * Follows a file: what it says is read again when it has changed, and each time while it cannot be read, because
 * corrected permissions do not change it.
 *
 * @returns throws SvcError `unavailable` while the file cannot be read; the reason is only in the log
 */
function followFile<T>(
  path: string,
  log: Log,
  read: (text: string, path: string) => Promise<T>,
): () => Promise<T> {
  let last: { version: string; value: T } | undefined;
  let problem: string | undefined;
  return async () => {
    const version = fileVersion(path);
    if (last?.version === version) return last.value;
    last = undefined;
    try {
      const value = await read(readTextFile(path, "the evidence file"), path);
      last = { version, value };
      problem = undefined;
      return value;
    } catch (cause) {
      const error = describeError(cause);
      // Anyone can ask: the same problem is logged once.
      if (error !== problem) log.error("evidence cannot be verified", { file: path, error });
      problem = error;
      const message = "this master cannot verify evidence now: its log has the reason";
      throw new SvcError("unavailable", message, { cause, retryAfterMs });
    }
  };
}
