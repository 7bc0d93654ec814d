import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import { type Bucket, createOrderedView } from "../../bus/storage/mod.ts";
import type { Administrator } from "../../wire/administrators.ts";
import {
  decodeOperator,
  isSignedOperator,
  lastRecordKey,
  type SignedOperatorRecord,
} from "../../wire/operator-record.ts";
import {
  adminRole,
  chainAbove,
  type Judgement,
  judgeOperator,
  lastRecordOf,
  type Standing,
} from "../../wire/operator-standing.ts";

/** The greatest versions of the records of operators. A record with a smaller one was put back by someone. */
export interface VersionFloors {
  /** 0 for a name without one. */
  of(name: string): number;
  /** Remembers the version of a record that was verified. */
  note(name: string, version: number): void;
}

/** The operators of a fleet, in the memory of a master. */
export interface Registry {
  readonly ready: Promise<void>;
  /** Resolves when everything that is stored now was seen. @throws SvcError `unavailable`, `storage` */
  caughtUp(): Promise<void>;
  /** Whether an operator may act with a key at a time, milliseconds since the Unix epoch. */
  judge(name: string, key: string, at: number): Judgement;
  /** The stored record, whatever it is worth. */
  find(name: string): SignedOperatorRecord | undefined;
  list(): readonly SignedOperatorRecord[];
  /** The last records of those who were removed, oldest change first; nobody has their name and key now. */
  removed(): readonly SignedOperatorRecord[];
  /** The records of those who are disabled or were removed, newest change first. */
  ended(): readonly SignedOperatorRecord[];
  administrators(): readonly Administrator[];
  /** Names of those who have the role `admin` now, sorted. */
  administratorsNow(at: number): readonly string[];
  /** The greatest version of this name that was seen; 0 for none. */
  versionFloor(name: string): number;
  /** The roles that a name has now; `undefined` when it does not count. */
  rolesNow(name: string, at: number): readonly string[] | undefined;
  /**
   * The records that prove an operator to a verifier that knows only the administrators: its own, then that of each signer.
   *
   * @returns `undefined` when it does not count; empty for an administrator of the file
   */
  chainOf(name: string, at: number): readonly SignedOperatorRecord[] | undefined;
  /**
   * The last record of a name and key that is disabled or removed, then that of each signer; `undefined` for one that
   * no administrator who counts signed.
   */
  lastChainOf(name: string, key: string, at: number): readonly SignedOperatorRecord[] | undefined;
  /** Keys of the records that an administrator disabled. */
  disabledKeys(): readonly string[];
  /** Remembers the version of a record that this master stores. */
  noteVersion(record: SignedOperatorRecord): void;
  /** What changes are judged against. */
  readonly standing: Standing;
  /** The records that are valid now and would not be without this one. */
  dependents(name: string, at: number): readonly string[];
  /** Calls `run` after each change. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
  stop(): void;
}

export interface RegistryDeps {
  bucket: Pick<Bucket, "watch">;
  administrators(): readonly Administrator[];
  /** The greatest versions of names, which outlive a restart. */
  floors: VersionFloors;
  clock: Pick<Clock, "now">;
  log: Log;
}

export function createRegistry({ bucket, administrators, floors, clock, log }: RegistryDeps): Registry {
  const listeners = new Set<() => void>();
  const report = () => {
    for (const run of [...listeners]) run();
  };
  const { view, last, standing } = createStanding({ administrators, floors, log });
  const floorOf = (name: string) => floors.of(name);
  /**
   * Only what an administrator signed raises the floor: an attacker who can only write to the bus cannot shut anyone
   * out.
   */
  const noteVersion = (record: SignedOperatorRecord) => {
    if (record.version <= floorOf(record.name) || !standing.isSigned(record)) return;
    // Only another key of the file says something about an administrator of the file: after the record of its own key it
    // would count as disabled.
    const isOfFile = administrators().some(({ name }) => name === record.name);
    if (isOfFile && record.key === record.publicKey) return;
    if (chainAbove(standing, record, clock.now()) === undefined) return;
    floors.note(record.name, record.version);
  };
  const { records, all, removed, ended } = listsOf(view, last, standing);
  let isWhole = false;
  const watch = bucket.watch((change) => {
    const of = isLastRecordKey(change.key) ? last : view;
    of.apply(change);
    if (!isWhole) return;
    const record = of.get(change.key)?.item;
    if (record !== undefined) noteVersion(record);
    // Those whose signer comes after them.
    for (const one of all()) if (one.key === record?.publicKey) noteVersion(one);
    report();
  });
  const ready = watch.ready.then(() => {
    isWhole = true;
    for (const record of all()) noteVersion(record);
    report();
  });
  return {
    ready,
    caughtUp: () => watch.caughtUp(),
    judge: (name, key, at) => judgeOperator(standing, name, key, at),
    find: standing.find,
    list: records,
    removed,
    ended,
    administrators,
    administratorsNow(at) {
      const named = [...administrators(), ...records().filter(({ roles }) => roles.includes(adminRole))];
      const names = [...new Set(named.map(({ name }) => name))].sort();
      return names.filter((name) => operatorNow(standing, name, at)?.roles.includes(adminRole) === true);
    },
    versionFloor: floorOf,
    rolesNow: (name, at) => operatorNow(standing, name, at)?.roles,
    chainOf(name, at) {
      if (operatorNow(standing, name, at) === undefined) return undefined;
      if (administrators().some((one) => one.name === name)) return [];
      const record = standing.find(name);
      return record === undefined ? undefined : chainAbove(standing, record, at);
    },
    lastChainOf(name, key, at) {
      const record = lastRecordOf(standing, name, key);
      return record && chainAbove(standing, record, at);
    },
    standing,
    noteVersion,
    disabledKeys: () =>
      records()
        .filter((record) => record.disabled === true && standing.isSigned(record))
        .filter((record) => chainAbove(standing, record, clock.now()) !== undefined)
        .map(({ publicKey }) => publicKey),
    dependents(name, at) {
      const gone = without(standing, name);
      return records()
        .filter((one) => one.name !== name && counts(standing, one, at) && !counts(gone, one, at))
        .map((one) => one.name);
    },
    onChange: (run) => subscribe(listeners, run),
    stop: () => watch.stop(),
  };
}

/** The records in memory, and what they are judged against. */
function createStanding({ administrators, floors, log }: Omit<RegistryDeps, "bucket" | "clock">) {
  const byKey = new Map<string, Set<string>>();
  /** A record does not change in memory: its signature is verified once. */
  const signed = new WeakMap<SignedOperatorRecord, boolean>();
  const unlink = ({ publicKey, name }: SignedOperatorRecord) => {
    const names = byKey.get(publicKey);
    names?.delete(name);
    if (names?.size === 0) byKey.delete(publicKey);
  };
  const reading = {
    read: (bytes: Uint8Array) => decodeOperator(bytes),
    itemOf: (record: SignedOperatorRecord) => record,
    onUnreadable: (name: string, thrown: unknown) =>
      log.error("a stored operator cannot be read", { operator: name, reason: describeError(thrown) }),
  };
  const view = createOrderedView<SignedOperatorRecord, SignedOperatorRecord>({
    ...reading,
    placeOf: ({ name, createdAt }) => ({ id: name, createdAt: rfc3339(createdAt) }),
    onValue(record, _, before) {
      if (before !== undefined) unlink(before);
      byKey.set(record.publicKey, (byKey.get(record.publicKey) ?? new Set()).add(record.name));
    },
    onGone: (_, record) => unlink(record),
  });
  /** The last records of those who were removed. */
  const last = createOrderedView<SignedOperatorRecord, SignedOperatorRecord>({
    ...reading,
    read: (bytes, before) => readLastRecord(bytes, before),
    placeOf: (record) => ({ id: lastRecordKey(record), createdAt: rfc3339(record.createdAt) }),
  });
  const removed: Standing["removed"] = (name, publicKey) =>
    last.get(lastRecordKey({ name, publicKey }))?.item;
  /** Under its name, too, until it is removed there: a master was ended in between, or someone put it back. */
  const isRemoved = ({ name, publicKey, version }: SignedOperatorRecord) =>
    removed(name, publicKey)?.version === version;
  const find: Standing["find"] = (name) => {
    const record = view.get(name)?.item;
    return record === undefined || isRemoved(record) ? undefined : record;
  };
  const standing: Standing = {
    get administrators() {
      return administrators();
    },
    find,
    removed,
    holdersOf: (publicKey) => [...(byKey.get(publicKey) ?? [])].flatMap((name) => find(name) ?? []),
    versionFloor: (name) => floors.of(name),
    isSigned(record) {
      const known = signed.get(record) ?? isSignedOperator(record);
      signed.set(record, known);
      return known;
    },
  };
  return { view, last, standing };
}

/** @throws SvcError `bad_request` for a record that is not the last one of an operator */
function readLastRecord(bytes: Uint8Array, before: SignedOperatorRecord | undefined): SignedOperatorRecord {
  const record = decodeOperator(bytes);
  if (record.disabled !== true) throw new SvcError("bad_request", "the operator is not disabled");
  if (record.version >= (before?.version ?? 0)) return record;
  throw new SvcError("bad_request", `version ${before?.version} was there: someone put an old one back`);
}

/** The records by what has become of their operators. */
function listsOf(view: Records, last: Records, standing: Standing) {
  const current = () => view.kept().filter(({ id, item }) => standing.find(id) === item);
  /** Nobody has their name and key now. */
  const gone = () =>
    last
      .kept()
      .filter(({ item }) => standing.find(item.name)?.publicKey !== item.publicKey)
      .toSorted(newestLast);
  const items = (kept: readonly { item: SignedOperatorRecord }[]) => kept.map(({ item }) => item);
  return {
    records: () => items(current()),
    all: () => items([...current(), ...last.kept()]),
    removed: () => items(gone()),
    ended: () =>
      items(
        [...current().filter(({ item }) => item.disabled === true), ...gone()]
          .toSorted(newestLast)
          .toReversed(),
      ),
  };
}

type Records = ReturnType<typeof createOrderedView<SignedOperatorRecord, SignedOperatorRecord>>;

const newestLast = (one: { revision: number }, other: { revision: number }) => one.revision - other.revision;

/** Names of operators have no upper-case letters. */
const isLastRecordKey = (key: string): boolean => key.startsWith("U");

/** An operator with the key that is registered now; `undefined` for one who does not count. */
function operatorNow(standing: Standing, name: string, at: number) {
  const listed = standing.administrators.find((one) => one.name === name);
  const key = listed?.publicKey ?? standing.find(name)?.publicKey;
  const judged = key === undefined ? undefined : judgeOperator(standing, name, key, at);
  return judged !== undefined && "operator" in judged ? judged.operator : undefined;
}

const counts = (against: Standing, { name, publicKey }: SignedOperatorRecord, at: number): boolean =>
  "operator" in judgeOperator(against, name, publicKey, at);

/** What the others would be judged against without this one. */
const without = (standing: Standing, name: string): Standing => ({
  ...standing,
  administrators: standing.administrators.filter((one) => one.name !== name),
  find: (other) => (other === name ? undefined : standing.find(other)),
  holdersOf: (key) => standing.holdersOf(key).filter((one) => one.name !== name),
});
