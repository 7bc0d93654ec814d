import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/storage/mod.ts";

import type { MasterKeys } from "../../fleet/masters/mod.ts";
import type { AccountKeys } from "./account-keys.ts";
import type { OtherMasters } from "./other-masters.ts";

/** Key of the bucket `secrets`: since when all masters sign credentials with a signing key. */
const markOf = (publicKey: string): string => `account-signer.${publicKey}`;

/** The part of a heartbeat that is about it. */
export type AccountReport = Pick<
  MasterKeys,
  "account_keys" | "issues_with" | "issues_since" | "keys_problem"
>;

/** Follows the change of the signing key of the peels' account. */
export interface AccountRotation {
  /** Resolves when it is known whether the next key was in use before this master started. */
  readonly ready: Promise<void>;
  /** What the heartbeat of this master reports. It also decides whether the next key signs from now on. */
  report(): AccountReport;
  stop(): void;
}

/**
 * The next key signs when every master has it, so that none takes it off the account, and every server of the bus
 * takes what it signs. The moment from which on all masters sign with it is stored, once for each key: what was
 * issued before depends on the key before.
 */
export function followAccountRotation(options: {
  keys: AccountKeys;
  others: OtherMasters;
  enforcer: { enforce(): Promise<boolean> };
  /** The bucket `secrets`. */
  secrets: Pick<Bucket, "get" | "create">;
  clock: Clock;
  log: Log;
}): AccountRotation {
  const { keys, others, enforcer, secrets, clock, log } = options;
  let confirmed: string | undefined;
  let since: { key: string; at: string } | undefined;
  let working: Promise<void> | undefined;

  const readMark = async (key: string) => {
    const entry = await secrets.get(markOf(key));
    const value = entry === undefined ? undefined : decode(entry.value);
    if (typeof value === "string") since = { key, at: value };
  };
  const inTurn = (run: () => Promise<void>) => {
    working ??= run()
      .catch((thrown) => {
        log.warn("the signing key of the account is not changed yet", { reason: describeError(thrown) });
      })
      .finally(() => {
        working = undefined;
      });
    return working;
  };
  const advance = async (next: string) => {
    if (since?.key !== next) await readMark(next);
    if (since?.key === next) return keys.useNext();
    if (!others.current().every(({ accountKeys }) => accountKeys.includes(next))) return;
    if (confirmed !== next) {
      if (!(await enforcer.enforce())) return;
      confirmed = next;
    }
    keys.useNext();
    if (keys.next !== next || !others.current().every(({ issuesWith }) => issuesWith === next)) return;
    // Whichever master is first; what the others signed before has an earlier time.
    await secrets.create(markOf(next), encode(rfc3339(clock.now())));
    await readMark(next);
  };
  const forget = keys.onChange(() => {
    // What was dropped is taken off the bus, and what is new is put there.
    void inTurn(async () => {
      await enforcer.enforce();
    });
  });
  return {
    ready:
      keys.next === undefined
        ? Promise.resolve()
        : inTurn(() => readMark(keys.next ?? "")).then(() => {
            if (since !== undefined && since.key === keys.next) keys.useNext();
          }),
    report() {
      const { next, publicKeys, signer, problem } = keys;
      if (next !== undefined) void inTurn(() => advance(next));
      return {
        account_keys: publicKeys,
        issues_with: signer.publicKey,
        ...defined({
          issues_since: since?.key === next ? since?.at : undefined,
          keys_problem: problem,
        }),
      };
    },
    stop: forget,
  };
}
