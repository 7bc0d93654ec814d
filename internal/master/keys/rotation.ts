import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { foreign } from "../../base/msgpack.ts";
import { record } from "../../base/record.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { hintSubject, knownKeysSubject } from "../../bus/subjects/subjects.ts";
import type { MasterKeys } from "../../fleet/masters/mod.ts";
import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import { readHeartbeat } from "../../wire/heartbeat.ts";
import type { Keyring } from "./keyring.ts";
import type { MasterKeyView, OtherMasters } from "./other-masters.ts";

/** How many peels that have not confirmed a key a heartbeat names. */
const maxNamed = 20;
/** How many peels that lack the key are notified again at once, at each heartbeat of this master. */
const hintsAtOnce = 500;
/** Pauses between two rounds of that; each is twice the one before. */
const hintPauses = { firstMs: 10_000, maxMs: 5 * 60_000 };

/** What masters report to each other: the command keys that a peel has confirmed in its hello. */
const known = record(
  "report of keys",
  { peel: v.string(), keys: v.array(v.string()) },
  { isOpen: true, limits: foreign(4096) },
);

/**
 * Whether a master may sign with the next key: every master has it, and every alive peel has confirmed it. Where
 * another master signs with it already, that was so.
 *
 * @param unconfirmed how many alive peels have not confirmed it; `undefined` while the fleet is not known
 */
export function mayUseNext(
  next: string,
  others: readonly Pick<MasterKeyView, "commandKeys" | "signsWith">[],
  unconfirmed: number | undefined,
): boolean {
  if (!others.every(({ commandKeys }) => commandKeys.includes(next))) return false;
  return unconfirmed === 0 || others.some(({ signsWith }) => signsWith === next);
}

/** What the heartbeat of a master reports about its command keys. */
export function reportKeys(keyring: Pick<Keyring, "publicKeys" | "signer" | "problem">) {
  return {
    command_keys: keyring.publicKeys,
    signs_with: keyring.signer.publicKey,
    ...defined({ keys_problem: keyring.problem }),
  };
}

/** Follows which peels and masters know the next command key. */
export interface Rotation {
  /** Resolves when it is known which key the other masters sign with; then this one does the same. */
  readonly ready: Promise<void>;
  /** A peel said in its hello which command keys it knows. */
  reported(peel: string, keys: readonly string[]): void;
  /** How many alive peels have not confirmed the next key; `undefined` while the fleet is not known. */
  readonly unconfirmed: number | undefined;
  /** What the heartbeat of this master reports. It also decides whether the next key signs from now on. */
  report(): Omit<MasterKeys, "account_keys" | "issues_with" | "settings_keys">;
  stop(): void;
}

export interface RotationOptions {
  keyring: Keyring;
  bus: Pick<Bus, "publish" | "nats">;
  index: Pick<FleetIndex, "alive" | "onBeat" | "running">;
  /** Encoded ids of the members of the fleet. */
  members(): readonly string[];
  others: OtherMasters;
  clock: Clock;
}

interface Following extends RotationOptions {
  /** Peels that confirmed the next key. */
  readonly confirmed: Set<string>;
  waitedFor: string | undefined;
  round: ReturnType<typeof newRound>;
}

/**
 * Peels confirm the next command key in their hello, which reaches one master, which notifies the others; and in
 * their heartbeats, so that a master that starts later knows it too. Nothing is stored for it.
 */
export function followRotation(options: RotationOptions): Rotation {
  const { keyring, bus, index, others, clock } = options;
  const following: Following = {
    ...options,
    confirmed: new Set(),
    waitedFor: keyring.next,
    round: newRound(clock),
  };
  const forgetKeys = keyring.onChange(() => {
    if (keyring.next === following.waitedFor) return;
    following.waitedFor = keyring.next;
    following.confirmed.clear();
    following.round = newRound(clock);
  });
  const unsubscribe = index.onBeat((peel, _, value) => {
    if (keyring.next === undefined) return;
    const keys = readHeartbeat(value)?.knows_command_keys;
    if (keys !== undefined) note(following, peel, keys);
  });
  const reporting = bus.nats.subscribe(knownKeysSubject, {
    callback(error, message) {
      const reported = error === null ? known.decodeOrNothing(message.data) : undefined;
      if (reported !== undefined) note(following, reported.peel, reported.keys);
    },
  });
  return {
    ready: others.ready.then(() => decide(following, missing(following))),
    reported(peel, keys) {
      if (keyring.next === undefined) return;
      note(following, peel, keys);
      bus.publish(knownKeysSubject, known.encode({ peel, keys: [...keys] }));
    },
    get unconfirmed() {
      return missing(following)?.length;
    },
    report() {
      const { next } = keyring;
      if (next === undefined) return reportKeys(keyring);
      const peels = missing(following);
      decide(following, peels);
      if (peels === undefined) return reportKeys(keyring);
      if (others.current().every(({ commandKeys }) => commandKeys.includes(next))) remind(following, peels);
      const unconfirmed = { unconfirmed_peels: peels.slice(0, maxNamed), unconfirmed_count: peels.length };
      return { ...reportKeys(keyring), ...unconfirmed };
    },
    stop() {
      forgetKeys();
      unsubscribe();
      reporting.unsubscribe();
    },
  };
}

const newRound = (clock: Clock) => ({
  at: clock.monotonic() + hintPauses.firstMs,
  pauseMs: hintPauses.firstMs,
  sent: 0,
});

function note({ keyring: { next }, confirmed }: Following, peel: string, keys: readonly string[]): void {
  if (next === undefined) return;
  if (keys.includes(next)) confirmed.add(peel);
  else confirmed.delete(peel);
}

/** The alive peels that have not confirmed the next key; `undefined` while the fleet is not known. */
function missing({ index, members, confirmed }: Following): string[] | undefined {
  if (!index.running) return undefined;
  return members().filter((peel) => index.alive(peel) && !confirmed.has(peel));
}

function decide({ keyring, others }: Following, peels: readonly string[] | undefined): void {
  const { next } = keyring;
  if (next !== undefined && mayUseNext(next, others.current(), peels?.length)) keyring.useNext();
}

/**
 * Masters get the key one after the other, so that the hello of a peel may have reached one without it. Such peels
 * are notified again, less and less often.
 */
function remind(following: Following, peels: readonly string[]): void {
  const { round, bus, clock } = following;
  if (clock.monotonic() < round.at) return;
  for (const peel of peels.slice(round.sent, round.sent + hintsAtOnce)) bus.nats.publish(hintSubject(peel));
  round.sent += hintsAtOnce;
  if (round.sent < peels.length) return;
  const pauseMs = Math.min(2 * round.pauseMs, hintPauses.maxMs);
  following.round = { at: clock.monotonic() + round.pauseMs, pauseMs, sent: 0 };
}
