import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { type KeyPair, keyPairFromSeed } from "../../identity/mod.ts";
import { isSigned, parseRecoveryKeys, parseSuccession } from "../../identity/succession/mod.ts";

/** What a succession needs of the fleet before, from a copy of its directory. */
export interface EarlierFleet {
  /** Key of the peels' account: the vouchers of the records are made with it. */
  account: KeyPair;
  /** Serial of the statement with which that fleet succeeded another one; 0 without. */
  serial: number;
  /** When that statement was issued, milliseconds since the Unix epoch. */
  issuedAt: number;
}

/**
 * Reads a copy of the directory of a fleet.
 *
 * @param recovery signs the succession; the peels of that fleet must know it
 * @throws SvcError `bad_request` naming the file and what to do
 */
export function readEarlierFleet(dir: string, recovery: KeyPair): EarlierFleet {
  const auth = join(dir, "auth");
  if (readTextIfPresent(join(auth, "ca", "root.crt")) === undefined) {
    throw new SvcError(
      "bad_request",
      `${join(auth, "ca", "root.crt")} is missing: name a copy of the directory of svc init with --from; where the CA is external, its owner replaces it`,
    );
  }
  const path = join(auth, "recovery.pub");
  const text = readTextIfPresent(path);
  if (text === undefined) {
    throw new SvcError(
      "bad_request",
      `${path} is missing: the peels of this fleet know no recovery key, so each of them must enroll again`,
    );
  }
  if (!parseRecoveryKeys(path, text).includes(recovery.publicKey)) {
    throw new SvcError(
      "bad_request",
      `--recovery-seed belongs to ${recovery.publicKey}, which is not a key of ${path}: name the recovery.seed of that fleet`,
    );
  }
  const seed = join(auth, "account.seed");
  return { account: accountOf(seed), ...readSerial(join(auth, "succession.json")) };
}

function accountOf(path: string): KeyPair {
  const text = readTextFile(path, "the account key of the fleet before");
  try {
    return keyPairFromSeed("account", text);
  } catch {
    throw new SvcError("bad_request", `${path} does not contain the seed of an account: copy it again`);
  }
}

function readSerial(path: string): Pick<EarlierFleet, "serial" | "issuedAt"> {
  const text = readTextIfPresent(path);
  if (text === undefined) return { serial: 0, issuedAt: 0 };
  try {
    const statement = parseSuccession(JSON.parse(text));
    if (isSigned(statement)) {
      return { serial: statement.serial, issuedAt: Date.parse(statement.issued_at) };
    }
  } catch {
    // Reported below.
  }
  throw new SvcError("bad_request", `${path} is damaged: copy it again, because the next serial follows it`);
}
