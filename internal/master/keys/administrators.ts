import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { readOperatorsKey } from "../../bus/accounts/mod.ts";
import type { AccountSigner, KeyPair } from "../../identity/mod.ts";
import { type Administrator, parseAdministrators } from "../../wire/administrators.ts";
import { followFiles } from "./follow-files.ts";

/** What a master knows of operators from its own directory, and not from the bus. */
export interface OperatorFiles {
  readonly administrators: readonly Administrator[];
  /** Signs the JWTs of operators; absent where its file is missing. */
  readonly signer: AccountSigner | undefined;
  /** Why a file cannot be read; what was read before stays in force. */
  readonly problem: string | undefined;
  onChange(run: () => void): () => void;
  stop(): void;
}

/**
 * Follows `administrators` and `masters-operators.seed` of the auth directory.
 *
 * @param account public key of the masters' account
 * @throws SvcError `bad_request` with file and line, when they cannot be read at the start
 */
export function followOperatorFiles(options: {
  authDir: string;
  account: string;
  clock: Clock;
  log: Log;
}): OperatorFiles {
  const { authDir, account, clock, log } = options;
  const read = () => {
    const { administrators, key } = readOperatorFiles(authDir);
    return {
      administrators,
      signer: key === undefined ? undefined : { ...key, issuerAccount: account },
    };
  };
  const followed = followFiles({
    ...{ authDir, first: read(), read, clock, log },
    stateOf: ({ administrators, signer }) => JSON.stringify([administrators, signer?.publicKey]),
    failed: "the files of operators cannot be read; what was read before stays in force",
    changed({ administrators, signer }) {
      log.info("the files of operators were reloaded", {
        administrators: administrators.map(({ name }) => name).join(","),
        signing_key: signer?.publicKey ?? "none",
      });
    },
  });
  return {
    get administrators() {
      return followed.current.administrators;
    },
    get signer() {
      return followed.current.signer;
    },
    get problem() {
      return followed.problem;
    },
    onChange: followed.onChange,
    stop: followed.stop,
  };
}

/**
 * Reads both files once.
 *
 * @throws SvcError `bad_request` with file and line
 */
export function readOperatorFiles(authDir: string): {
  administrators: readonly Administrator[];
  key: KeyPair | undefined;
} {
  const path = join(authDir, "administrators");
  return {
    administrators: parseAdministrators(path, readTextIfPresent(path) ?? ""),
    key: readOperatorsKey(authDir),
  };
}
