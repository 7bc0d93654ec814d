import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import { readOperatorsKey } from "../../bus/accounts/mod.ts";
import type { AccountSigner, KeyPair } from "../../identity/mod.ts";
import { type Administrator, parseAdministrators } from "../../wire/administrators.ts";

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
  const load = () => {
    const { administrators, key } = readOperatorFiles(authDir);
    return {
      administrators,
      signer: key === undefined ? undefined : { ...key, issuerAccount: account },
    };
  };
  let current = load();
  let problem: string | undefined;
  const listeners = new Set<() => void>();
  const stateOf = () => JSON.stringify([current.administrators, current.signer?.publicKey]);
  const read = () => {
    const before = stateOf();
    try {
      current = load();
      problem = undefined;
    } catch (thrown) {
      const reason = describeError(thrown);
      if (problem !== reason) {
        log.error("the files of operators cannot be read; what was read before stays in force", { reason });
      }
      problem = reason;
      return;
    }
    if (stateOf() === before) return;
    log.info("the files of operators were reloaded", {
      administrators: current.administrators.map(({ name }) => name).join(","),
      signing_key: current.signer?.publicKey ?? "none",
    });
    for (const run of [...listeners]) run();
  };
  const watching = watchDirectory(authDir, { onChange: read, recursive: false, clock, log });
  return {
    get administrators() {
      return current.administrators;
    },
    get signer() {
      return current.signer;
    },
    get problem() {
      return problem;
    },
    onChange: (run) => subscribe(listeners, run),
    stop() {
      watching.stop();
      listeners.clear();
    },
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
