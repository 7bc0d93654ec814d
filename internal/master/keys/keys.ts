import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import {
  type AccountKeyFiles,
  type CommandKeyFiles,
  readAccountKeys,
  readCommandKeys,
} from "../../bus/accounts/mod.ts";
import { type KeyPair, keyPairFromSeed, parseCredentials, readClaims } from "../../identity/mod.ts";
import {
  isSigned,
  parseRecoveryKeys,
  parseSuccession,
  type SignedSuccession,
} from "../../identity/succession/mod.ts";

/** The secrets a master works with; `svc nats-auth init` writes them. */
export interface MasterKeys {
  /** Text of master.creds. */
  credentials: string;
  /** Text of system.creds. */
  systemCredentials: string;
  /** Signs the JWTs of peels. */
  account: KeyPair;
  /** Signs the claims of the peels' account, which hold the revocations. */
  operatorSigning: KeyPair;
  /** Public key of the masters' account. */
  mastersAccount: string;
  /** Sign commands: the current one, and during a change the next one. */
  command: CommandKeyFiles;
  /** Signing keys of the peels' account; without one, its own key signs. */
  accountSigning: AccountKeyFiles;
  /** Public keys that may sign a succession of this fleet; none without `recovery.pub`. */
  recoveryKeys: readonly string[];
  /** The statement that this fleet succeeds another one, if it does. */
  succession: SignedSuccession | undefined;
}

/**
 * Reads the secrets of a master from its auth directory.
 *
 * @throws SvcError `bad_request` naming the file that is missing or malformed
 */
export function loadMasterKeys(authDir: string): MasterKeys {
  const read = (name: string) => {
    const path = join(authDir, name);
    try {
      return readTextFile(path, "the key file");
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : "";
      throw new SvcError("bad_request", `${reason}: make it with svc nats-auth init, or set auth_dir`);
    }
  };
  const seed = (name: string, role: "account" | "operator") => {
    try {
      return keyPairFromSeed(role, read(name));
    } catch (cause) {
      throw new SvcError(
        "bad_request",
        `${join(authDir, name)}: ${cause instanceof Error ? cause.message : ""}`,
      );
    }
  };
  const credentials = read("master.creds");
  const claims = readClaims(parseCredentials(credentials).jwt);
  return {
    credentials,
    systemCredentials: read("system.creds"),
    account: seed("account.seed", "account"),
    operatorSigning: seed("operator-signing.seed", "operator"),
    // A user signed by a signing key names its account; one signed by the account itself need not.
    mastersAccount: typeof claims.nats.issuer_account === "string" ? claims.nats.issuer_account : claims.iss,
    command: commandKeys(authDir),
    accountSigning: readAccountKeys(authDir),
    recoveryKeys: readRecoveryKeys(join(authDir, "recovery.pub")),
    succession: readSuccession(join(authDir, "succession.json")),
  };
}

function commandKeys(authDir: string): CommandKeyFiles {
  try {
    return readCommandKeys(authDir);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "";
    const isMissing = reason.includes("no such file");
    throw new SvcError(
      "bad_request",
      isMissing ? `${reason}: make it with svc nats-auth init, or set auth_dir` : reason,
    );
  }
}

function readRecoveryKeys(path: string): string[] {
  const text = readTextIfPresent(path);
  return text === undefined ? [] : parseRecoveryKeys(path, text);
}

function readSuccession(path: string): SignedSuccession | undefined {
  const text = readTextIfPresent(path);
  if (text === undefined) return undefined;
  try {
    const statement = parseSuccession(JSON.parse(text));
    if (isSigned(statement)) return statement;
  } catch {
    // Reported below: a statement that no peel accepts.
  }
  throw new SvcError(
    "bad_request",
    `${path} is damaged: copy it again from the directory that svc fleet succeed wrote`,
  );
}
