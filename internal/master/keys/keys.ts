import { existsSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import {
  type AccountKeyFiles,
  type CommandKeyFiles,
  readAccountKeys,
  readCommandKeys,
  type SettingsKeyFiles,
} from "../../bus/accounts/mod.ts";
import { type KeyPair, keyPairFromSeed, parseCredentials, readClaims } from "../../identity/mod.ts";
import {
  isSigned,
  parseRecoveryKeys,
  parseSuccession,
  type SignedSuccession,
} from "../../identity/succession/mod.ts";
import { readSettingsKeys } from "./settings-keys.ts";

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
  /** What masters encrypt and compare among themselves; none in a fleet that never had one. */
  settings: SettingsKeyFiles;
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
  const read = <T>(name: string, parse: (text: string) => T): { text: string; parsed: T } => {
    const path = join(authDir, name);
    let text: string;
    try {
      text = readTextFile(path, "the key file");
    } catch (cause) {
      throw new SvcError("bad_request", `${messageOf(cause)}: ${wayBack(authDir)}`);
    }
    try {
      return { text, parsed: parse(text) };
    } catch (cause) {
      throw new SvcError("bad_request", `${path} is damaged: ${messageOf(cause)}: ${wayBack(authDir)}`);
    }
  };
  const seed = (name: string, role: "account" | "operator") =>
    read(name, (text) => keyPairFromSeed(role, text)).parsed;
  const { text: credentials, parsed: claims } = read("master.creds", claimsOf);
  return {
    credentials,
    systemCredentials: read("system.creds", claimsOf).text,
    account: seed("account.seed", "account"),
    operatorSigning: seed("operator-signing.seed", "operator"),
    // A user signed by a signing key names its account; one signed by the account itself need not.
    mastersAccount: typeof claims.nats.issuer_account === "string" ? claims.nats.issuer_account : claims.iss,
    command: orBack(authDir, readCommandKeys),
    accountSigning: readAccountKeys(authDir),
    settings: orBack(authDir, readSettingsKeys),
    recoveryKeys: readRecoveryKeys(join(authDir, "recovery.pub")),
    succession: readSuccession(join(authDir, "succession.json")),
  };
}

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : "");
const claimsOf = (text: string) => readClaims(parseCredentials(text).jwt);

/** A directory with any of these belongs to a fleet. */
const fleetFiles = ["operator.jwt", "account.seed", "master.creds", "system.creds", "command.seed"];

/** How to come by a key that is missing or damaged: new keys are another fleet, which no peel follows. */
function wayBack(authDir: string): string {
  return fleetFiles.some((name) => existsSync(join(authDir, name)))
    ? "restore it from the backup of this fleet, or copy it from auth_dir of another master"
    : `for a new fleet svc nats-auth init --dir ${authDir} makes it; otherwise correct auth_dir`;
}

function orBack<Keys>(authDir: string, read: (authDir: string) => Keys): Keys {
  try {
    return read(authDir);
  } catch (cause) {
    throw new SvcError("bad_request", `${messageOf(cause)}: ${wayBack(authDir)}`);
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
