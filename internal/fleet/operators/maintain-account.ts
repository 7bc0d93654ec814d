import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { operatorScope } from "../../bus/accounts/mod.ts";
import { createReconciler, maxPushes, type Reconciler, type SystemBus } from "../../bus/servers/mod.ts";
import { type Claims, encodeJwt, type KeyPair, readClaims } from "../../identity/mod.ts";
import type { OperatorRevocation, OperatorRevocations } from "./revocations.ts";

export interface MaintainAccountDeps {
  revocations: Pick<OperatorRevocations, "current" | "prune" | "onChange">;
  system: Pick<SystemBus, "servers" | "pushClaims" | "lookupClaims" | "onServerJoin">;
  /** Public key of the masters' account. */
  account: string;
  /** Public key that signs the JWTs of operators; absent where its file is missing. */
  signingKey(): string | undefined;
  /**
   * Keys of operators whose records are disabled: they are revoked also where the entry of the revocation is gone.
   *
   * @throws SvcError `unavailable`, `storage`
   */
  disabledKeys(): Promise<readonly string[]>;
  /** A signing key of the NATS operator. */
  signer: KeyPair;
  mayPrune(): boolean;
  clock: Clock;
  log: Log;
}

/**
 * Keeps the revocations of operators, and the key that signs them, in the claims of the masters' account. Everything
 * else in the claims stays: another version may have written it. Several masters may do it at once: after each push
 * the bus is compared again.
 */
export function createAccountReconciler(deps: MaintainAccountDeps): Reconciler {
  const { revocations, system, account, signer, mayPrune, clock, log } = deps;
  const run = async (checkAgainSoon: () => void): Promise<boolean> => {
    for (let pushed = 0; ; pushed++) {
      const answers = await system.lookupClaims(account);
      const held = answers.flatMap(({ jwt }) => (jwt === "" ? [] : readClaims(jwt)));
      const entries = await revocations.current(clock.now());
      const disabled = await deps.disabledKeys();
      const wantedOf = (claims: Pick<Claims, "nats">) =>
        wantedNats(claims, entries, { signingKey: deps.signingKey(), disabled, now: clock.now() });
      const complete = answers.length >= system.servers().total && held.length === answers.length;
      const newest = held.toSorted((one, other) => other.iat - one.iat)[0];
      if (newest === undefined) return false;
      const wanted = wantedOf(newest);
      const lacks = held.some((claims) => JSON.stringify(wantedOf(claims)) !== JSON.stringify(claims.nats));
      if (!lacks) return complete;
      if (pushed === maxPushes || (pushed > 1 && !complete)) {
        checkAgainSoon();
        return false;
      }
      const { name, sub } = newest;
      // A server keeps the newest claims at its start, also compared with those in its configuration.
      const issuedAt = Math.max(Math.floor(clock.now() / 1000) + 1, newest.iat + 1);
      const jwt = encodeJwt({ type: "account", name, subject: sub, issuedAt, nats: wanted }, signer);
      const revokedBy = ({ nats }: Pick<Claims, "nats">) =>
        Object(nats.revocations) as Record<string, number>;
      const lacked = Object.keys(wanted.revocations ?? {}).filter(
        (key) => revokedBy(newest)[key] === undefined,
      );
      if (!(await system.pushClaims(jwt, lacked)))
        log.warn("not every server took the claims of the masters' account");
    }
  };
  return createReconciler({
    ...{ run, system, clock },
    async onRun(confirmed) {
      if (!confirmed) log.debug("the claims of the masters' account are not confirmed by the whole bus yet");
      if (mayPrune()) await revocations.prune(clock.now());
    },
    onFailure: (cause) =>
      log.warn("revocations of operators could not be reconciled", { error: describeError(cause) }),
    onForeign: (hint) => revocations.onChange(hint),
  });
}

/**
 * What claims must hold: what they hold, with the revocations and the signing key in addition.
 *
 * @internal exported for its test
 */
export function wantedNats(
  { nats }: Pick<Claims, "nats">,
  entries: readonly OperatorRevocation[],
  options: { signingKey?: string | undefined; disabled?: readonly string[]; now: number },
): Claims["nats"] {
  const { signingKey, disabled = [], now } = options;
  const found = Object.entries(Object(nats.revocations) as Record<string, unknown>);
  const revoked = new Map(found.filter((pair): pair is [string, number] => typeof pair[1] === "number"));
  for (const { publicKey, revokedAt, liftedAt } of entries) {
    const until = Math.floor(revokedAt / 1000);
    if (liftedAt !== undefined) revoked.delete(publicKey);
    else if ((revoked.get(publicKey) ?? 0) < until) revoked.set(publicKey, until);
  }
  for (const key of disabled) if (!revoked.has(key)) revoked.set(key, Math.floor(now / 1000));
  const keys: unknown[] = Array.isArray(nats.signing_keys) ? nats.signing_keys : [];
  const withKey = signingKey === undefined ? keys : withScope(keys, signingKey);
  return {
    ...nats,
    ...(withKey.length === 0 ? {} : { signing_keys: withKey }),
    ...(revoked.size === 0 && nats.revocations === undefined
      ? {}
      : { revocations: Object.fromEntries(revoked) }),
  };
}

/** Adds the key, and to its template what it lacks: masters of two versions must not undo each other's. */
function withScope(keys: readonly unknown[], signingKey: string): unknown[] {
  const own = operatorScope(signingKey);
  const isOwn = (entry: unknown) => Object(entry).key === signingKey || entry === signingKey;
  const held = keys.find(isOwn);
  const merged = held === undefined || held === signingKey ? own : merge(own, held);
  return held === undefined ? [...keys, merged] : keys.map((entry) => (entry === held ? merged : entry));
}

/** Two values of JSON as one: lists are united, and elsewhere the second counts. */
function merge(own: unknown, held: unknown): unknown {
  if (Array.isArray(own) && Array.isArray(held)) {
    return [...held, ...own.filter((one) => !held.includes(one))];
  }
  if (own === null || held === null || typeof own !== "object" || typeof held !== "object") return held;
  const fields: Record<string, unknown> = { ...held };
  for (const [name, value] of Object.entries(own)) {
    fields[name] = name in held ? merge(value, (held as Record<string, unknown>)[name]) : value;
  }
  return fields;
}
