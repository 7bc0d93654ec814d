import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { Administrator } from "../../wire/administrators.ts";
import {
  decodeAdministrators,
  encodeAdministrators,
  isSameList,
  isSignedStatement,
  maxStatementBytes,
  type SignedAdministratorsStatement,
} from "../../wire/administrators-statement.ts";

const prefix = "_administrators.";
/** How many statements a peel gets with one answer; twice as many with those of unknown signers. */
const maxAtOnce = 16;

/** The statements of administrators about the administrators, in the memory of a master. */
export interface AdministratorStatements {
  readonly ready: Promise<void>;
  /** Resolves when everything that is stored now was seen. @throws SvcError `unavailable`, `storage` */
  caughtUp(): Promise<void>;
  /** Those that peels are given, oldest first. */
  list(): readonly SignedAdministratorsStatement[];
  /** The newest one that leads to the administrators that this master knows. Peels have its list, or will. */
  newest(): SignedAdministratorsStatement | undefined;
  /**
   * What a peel is given that has a version: the next ones, oldest first. It asks again when it followed one. However
   * many statements someone put on the bus, those of administrators are among them.
   */
  after(version: number): readonly Uint8Array[];
  /** The version that a peel starts from which learns this list now: later statements change it. */
  versionOf(list: readonly Administrator[]): number;
  /** Stores the next statement. @throws SvcError `conflict` when another one has taken its version, `storage` */
  add(statement: SignedAdministratorsStatement): Promise<void>;
  stop(): void;
}

/**
 * Follows the statements in a bucket. A writer on the bus can hide them there and can add others; which of them
 * count is the decision of each peel, from the list that it has.
 *
 * @param deps.fleet public key of the account of the peels
 */
export function followStatements(deps: {
  bucket: Pick<Bucket, "watch" | "create">;
  fleet: string;
  administrators(): readonly Administrator[];
  log: Log;
}): AdministratorStatements {
  const { bucket, fleet, administrators, log } = deps;
  const found = new Map<number, SignedAdministratorsStatement>();
  const read = (key: string, value: Uint8Array) => {
    const statement = decodeAdministrators(value);
    const isInPlace = `${prefix}${statement.version}` === key && statement.fleet === fleet;
    if (isInPlace && isSignedStatement(statement)) return statement;
    throw new SvcError("bad_request", "it belongs to another fleet, is in another place, or is not signed");
  };
  const watch = bucket.watch(({ key, value }) => {
    // A statement that was removed stays in memory: a peel that was off needs it.
    if (value === undefined || value.length > maxStatementBytes) return;
    try {
      const statement = read(key, value);
      found.set(statement.version, statement);
    } catch (thrown) {
      log.error("a stored statement about administrators is ignored", { key, reason: describeError(thrown) });
    }
  }, `${prefix}*`);
  /** In order; one far beyond the others only if it comes from a known key. */
  const kept = () => {
    const known = new Set(administrators().map(({ publicKey }) => publicKey));
    const list: SignedAdministratorsStatement[] = [];
    const led: SignedAdministratorsStatement[] = [];
    for (const statement of [...found.values()].toSorted((one, other) => one.version - other.version)) {
      const isKnown = known.has(statement.key);
      if (!isKnown && statement.version !== (list.at(-1)?.version ?? 0) + 1) continue;
      list.push(statement);
      // The signer of the first one may have left the file since: its list is then that of the file.
      if (!isKnown && (led.length > 0 || !isSameList(statement.administrators, administrators()))) continue;
      led.push(statement);
      for (const { publicKey } of statement.administrators) known.add(publicKey);
    }
    return { list, led };
  };
  return {
    ready: watch.ready,
    caughtUp: () => watch.caughtUp(),
    list: () => kept().list,
    newest: () => kept().led.at(-1),
    after(version) {
      // Most peels have the newest one.
      if (found.size === 0) return [];
      const { list, led } = kept();
      const known = new Set(led);
      const later = (isLed: boolean) =>
        list.filter((one) => one.version > version && known.has(one) === isLed).slice(0, maxAtOnce);
      return [...later(true), ...later(false)]
        .toSorted((one, other) => one.version - other.version)
        .map((one) => encodeAdministrators(one));
    },
    versionOf(list) {
      for (const statement of kept().list.toReversed()) {
        if (isSameList(statement.administrators, list)) return statement.version;
        if (list.some(({ publicKey }) => publicKey === statement.key)) return statement.version - 1;
      }
      return kept().list.at(-1)?.version ?? 0;
    },
    async add(statement) {
      const key = `${prefix}${statement.version}`;
      if ((await bucket.create(key, encodeAdministrators(statement))) === undefined) {
        throw new SvcError(
          "conflict",
          `version ${statement.version} of the administrators was made meanwhile: look at svc operator administrators, and repeat`,
        );
      }
      found.set(statement.version, statement);
    },
    stop: () => watch.stop(),
  };
}
