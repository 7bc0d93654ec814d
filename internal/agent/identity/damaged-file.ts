import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import {
  decodePublicKey,
  isSignedJwt,
  keyPairFromSeed,
  parseCredentials,
  readClaims,
} from "../../identity/mod.ts";
import { spkiPin } from "../../identity/trust/mod.ts";
import { parseAdministrators } from "../../wire/administrators.ts";
import type { IdentityFiles } from "./identity.ts";

const enrollAgain =
  "restore it from a backup, or revoke the peel with svc enroll revoke, delete the file, and restart the peel: it enrolls again";
const recovers = `where it reaches a master, the peel recovers it by itself; otherwise ${enrollAgain}`;

/** A file of the peel is not as the peel wrote it. It says which one, and what to do. */
export class DamagedFile extends SvcError {
  readonly fields: { file: string; reason: string; next: string };

  constructor(file: string, reason: string, next: string) {
    super("bad_request", `${file} is damaged: ${reason}; ${next}`);
    this.fields = { file, reason, next };
  }
}

/**
 * Reads the bus credentials. What was cut off or changed is found here: a server would only refuse it.
 *
 * @throws DamagedFile
 */
export function readPeelCredentials(file: string): string {
  const found = checked(file, recovers, (text) => {
    const { jwt, key } = parseCredentials(text);
    if (readClaims(jwt).sub !== key.publicKey) throw new Error("its JWT is for another key than its seed");
    if (!isSignedJwt(jwt)) throw new Error("its JWT was changed: the signature does not match");
  });
  if (found === undefined) throw new DamagedFile(file, "it is missing", recovers);
  return found;
}

/**
 * Logs the files of a peel that are damaged, once, at its start: some of them are needed much later. The
 * credentials are not among them, because each connection reads them.
 */
export function reportDamagedFiles(files: IdentityFiles, busCa: string, log: Log): void {
  const isEnrolled = existsSync(files.credentials);
  const checks: [file: string, next: string, check: (text: string) => void][] = [
    [files.seed, `without it this peel cannot open new settings: ${enrollAgain}`, checkSeed],
    [
      files.commandKeys,
      "the peel fetches it again from the masters; where no master is configured, set master_url",
      checkCommandKeys,
    ],
    [
      files.anchor,
      "delete it, and set enroll_ca or enroll_ca_pin, so that the peel verifies the masters again",
      checkCertificates,
    ],
    [
      files.recoveryKeys,
      "until it is restored, this peel cannot follow its fleet after a theft of its keys; delete it, and the peel learns it again from the masters",
      checkCommandKeys,
    ],
    [
      files.administrators,
      "until it is restored, this peel knows no administrators, so with require_operator it obeys no operator; delete it, and the peel learns them again with the next credentials over HTTPS",
      (text) => void parseAdministrators(files.administrators, text),
    ],
    [busCa, "copy the CA of the bus to this file, and restart the peel", checkCertificates],
  ];
  for (const [file, next, check] of checks) {
    try {
      const text = checked(file, next, check);
      if (text === undefined && isEnrolled && file === files.seed) {
        throw new DamagedFile(file, "it is missing", next);
      }
    } catch (thrown) {
      if (!(thrown instanceof DamagedFile)) throw thrown;
      log.error(damagedEvent, thrown.fields);
    }
  }
}

export const damagedEvent = "a file of this peel is damaged";

/** @returns the text; `undefined` when there is no such file */
function checked(file: string, next: string, check: (text: string) => void): string | undefined {
  try {
    const bytes = readFileSync(file);
    if (bytes.length === 0) throw new Error("it is empty");
    if (!isUtf8(bytes)) throw new Error("it is not text");
    const text = bytes.toString("utf8");
    check(text);
    return text;
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return undefined;
    const reason = thrown instanceof Error && "code" in thrown ? reasonOf(thrown) : describeError(thrown);
    throw new DamagedFile(file, reason, next);
  }
}

function checkSeed(text: string): void {
  keyPairFromSeed("user", text);
}

function checkCommandKeys(text: string): void {
  const lines = text.split("\n").filter(Boolean);
  if (lines.some((line) => decodePublicKey("user", line) === undefined)) {
    throw new Error("a line of it is not the public key of a user");
  }
}

function checkCertificates(text: string): void {
  try {
    spkiPin(text);
  } catch {
    throw new Error("it contains no certificate that can be read");
  }
}
