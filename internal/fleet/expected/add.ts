import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { type EnrollmentState, type Labels, liveStates } from "../enrollment/record/mod.ts";
import type { Maker } from "../roles/mod.ts";
import { type ExpectedHost, encodeExpected } from "./record.ts";
import { findExpected } from "./store.ts";
import type { TakeDeps } from "./taken.ts";
import type { ExpectedView } from "./view.ts";

/** More than any site makes at once; a list of them fits into the bucket. */
const maxExpected = 50_000;
const atOnce = 16;

/**
 * What became of one host: `added`; `renewed`, when it was expected already and nobody used that; `waits`, when it is
 * added and asked to join before; `member`, when its peel id is enrolled and nothing was written.
 */
export const outcomes = ["added", "renewed", "waits", "member"] as const;
export type Outcome = (typeof outcomes)[number];

export interface AddDeps extends TakeDeps {
  view: Pick<ExpectedView, "all">;
  directory: { stateOf(peelId: string): EnrollmentState | undefined; caughtUp(): Promise<void> };
  clock: Pick<Clock, "now">;
}

/** A host to expect. */
export interface NamedHost {
  /** Encoded. */
  peelId: string;
  publicKey: string;
  labels?: Labels;
}

interface Added {
  hosts: readonly NamedHost[];
  by: string;
  maker?: Maker;
  ttlMs: number;
  /** Whether to find out what would be done, and write nothing. */
  checks: boolean;
}

/**
 * Adds hosts to those that are expected. All of them are looked at before one is written.
 *
 * @returns the outcome for each, in their order
 * @throws SvcError `bad_request` for a peel id that appears twice, `conflict` for one that is expected with another
 *   key, or when there are too many
 */
export async function addHosts(
  deps: AddDeps,
  { hosts, by, maker, ttlMs, checks }: Added,
): Promise<Outcome[]> {
  checkNamedOnce(hosts);
  await deps.directory.caughtUp();
  const now = deps.clock.now();
  const named = new Set(hosts.map(({ peelId }) => peelId));
  const stored = await deps.view.all();
  const known = new Map(
    stored.filter(({ peelId }) => named.has(peelId)).map((one) => [one.peelId, one.host]),
  );
  const others = stored.filter(({ peelId }) => !named.has(peelId));
  const ended = others.filter(({ endsAt }) => endsAt <= now);
  if (!checks) {
    await mapBounded(ended, { atOnce }, ({ peelId, revision }) => deps.bucket.remove(peelId, revision));
  }
  const kept = others.length - ended.length;
  if (kept + hosts.length > maxExpected) {
    throw new SvcError(
      "conflict",
      `${kept} hosts are expected already, and at most ${maxExpected} can be: remove those that do not come`,
    );
  }
  const planned = hosts.map((host) => ({
    host,
    outcome: outcomeOf(deps, host, known.get(host.peelId), now),
  }));
  if (checks) return planned.map(({ outcome }) => outcome);
  await mapBounded(planned, { atOnce }, async ({ host, outcome }) => {
    if (outcome === "member") return;
    await write(deps, { ...host, by, at: now, endsAt: now + ttlMs, ...defined({ maker }) });
  });
  return planned.map(({ outcome }) => outcome);
}

function checkNamedOnce(hosts: readonly NamedHost[]): void {
  const seen = new Set<string>();
  for (const { peelId } of hosts) {
    if (seen.has(peelId)) {
      throw new SvcError("bad_request", `hosts: ${displayPeelId(peelId)} appears twice`);
    }
    seen.add(peelId);
  }
}

function outcomeOf(
  { directory }: Pick<AddDeps, "directory">,
  { peelId, publicKey }: NamedHost,
  found: ExpectedHost | undefined,
  now: number,
): Outcome {
  const state = directory.stateOf(peelId);
  if (state !== undefined && state !== "pending" && liveStates.has(state)) return "member";
  checkSameKey(found, publicKey, now);
  if (state === "pending") return "waits";
  return found !== undefined && found.endsAt > now && found.takenBy === undefined ? "renewed" : "added";
}

/** An entry that was taken replaces nobody: its host has joined. */
function checkSameKey(host: ExpectedHost | undefined, publicKey: string, now: number): void {
  if (
    host === undefined ||
    host.endsAt <= now ||
    host.takenBy !== undefined ||
    host.publicKey === publicKey
  ) {
    return;
  }
  const shown = displayPeelId(host.peelId);
  throw new SvcError(
    "conflict",
    `${shown} is expected with another key, ${keyFingerprint(host.publicKey)} (by ${host.by}): remove that with svc enroll expected remove ${shown}, or correct the key`,
  );
}

async function write(deps: AddDeps, host: ExpectedHost): Promise<void> {
  const { bucket, mac } = deps;
  await retryOnConflict(
    async () => {
      const found = await findExpected(deps, host.peelId);
      checkSameKey(found?.host, host.publicKey, host.at);
      const value = encodeExpected(mac, host);
      if (found !== undefined) return (await bucket.update(host.peelId, value, found.revision)) ?? conflict;
      // What no master made, and stands there, is replaced.
      const other = await bucket.get(host.peelId);
      if (other !== undefined) return (await bucket.update(host.peelId, value, other.revision)) ?? conflict;
      return (await bucket.create(host.peelId, value)) ?? conflict;
    },
    { exhausted: `the entry of ${displayPeelId(host.peelId)} is being changed by others: try again` },
  );
}
