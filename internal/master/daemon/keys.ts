import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/file.ts";
import { type KeyPair, keyPairFromSeed, parseCredentials, readClaims } from "../../identity/mod.ts";

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
  /** Signs commands. */
  command: KeyPair;
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
  const seed = (name: string, role: "account" | "operator" | "user") => {
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
    command: seed("command.seed", "user"),
  };
}
