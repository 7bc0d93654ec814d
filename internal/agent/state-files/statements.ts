import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { openStatement, type SignedStatement } from "../../tree/files/mod.ts";
import type { openSnapshotList } from "./state-snapshots.ts";

/** Signed statements about the state files, of which a peel uses the newest. */
export interface Statements {
  /**
   * Verifies a signed statement. If it is older than the newest one of this peel, for example from a master
   * that lags behind, the newer one is used.
   *
   * @returns the statement that applies
   * @throws SvcError for one that is not acceptable, when no earlier one applies
   */
  accept(bytes: Uint8Array | undefined): SignedStatement;
}

export function createStatements(options: {
  list: ReturnType<typeof openSnapshotList>;
  commandKeys: { readonly current: readonly string[] };
  log: Log;
}): Statements {
  const { list, commandKeys, log } = options;
  let latest: SignedStatement | undefined;
  const judge = (bytes: Uint8Array | undefined, keys: readonly string[]): SignedStatement => {
    const statement = openStatement(bytes, keys);
    const { newest } = list;
    // A replaced key, which may have been stolen, must not leave a version behind.
    if (newest !== undefined && keys.includes(newest.key) && statement.version < newest.version) {
      throw new SvcError("forbidden", "state files refused: they are older than the version of this peel");
    }
    return statement;
  };
  return {
    accept(bytes) {
      const keys = commandKeys.current;
      try {
        latest = judge(bytes, keys);
      } catch (thrown) {
        log.error("state files refused", { reason: describeError(thrown) });
        if (latest === undefined || !keys.includes(latest.key)) throw thrown;
        return latest;
      }
      try {
        list.record(latest);
      } catch (thrown) {
        log.warn("the version of the state files was not kept", { reason: describeError(thrown) });
      }
      return latest;
    },
  };
}
