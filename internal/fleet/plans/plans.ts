import { gunzipSync, gzipSync } from "node:zlib";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { FileSource } from "../../tree/files/mod.ts";
import { createInterning, createManySettings, createOrders, type Orders } from "../../tree/plan/mod.ts";
import { createCompilers, type SettingsTree } from "../../tree/settings/mod.ts";
import type { Compat } from "../../tree/template/mod.ts";
import type { Content } from "../../wire/content.ts";
import { localCommit } from "../../wire/content-words.ts";
import { readSentTree, type SentTree } from "./archive.ts";
import { makePlan, type Side } from "./make-plan.ts";
import type { PlanDocument } from "./plan-document.ts";
import type { PlanRecord } from "./record.ts";
import { type Found, maxPartBytes, type PlanStore } from "./store.ts";
import { createPlanTokens } from "./tokens.ts";

/** Files of an environment, as masters publish them. */
export interface OpenedEnvironment {
  source: FileSource;
  content: Content;
}

/** What masters know of the fleet and its files. */
export interface PlansDeps {
  store: PlanStore;
  /** @throws SvcError `not_found`, `unavailable` */
  openFiles(wanted: { environment: string; commit?: string; snapshot?: string }): Promise<OpenedEnvironment>;
  /** The settings files in force on this master. */
  settings(): SettingsTree;
  strictFacts: boolean;
  factsOf(peelId: string): Promise<Readonly<Record<string, Plain>> | undefined>;
  labelsOf(peelId: string): Readonly<Record<string, string>>;
  /** Digest of the files that a peel ran last. */
  lastRunOf(peelId: string): string | undefined;
  /** `states.salt_compat` */
  compat: Compat;
  random: Random;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** What to plan. */
export interface WantedPlan {
  operator: string;
  target: string;
  /** Encoded ids. */
  peels: readonly string[];
  environment: string;
  commit?: string | undefined;
  sinceLastRun?: boolean | undefined;
}

/** Makes plans. */
export interface Plans {
  /** Begins one whose files are sent. @returns its id */
  begin(wanted: WantedPlan): Promise<string>;
  /** Takes a part of its tree. @throws SvcError `bad_request`, `conflict`, `not_found`, `too_large` */
  take(upload: { id: string; seq: number; bytes: Uint8Array; operator: string }): Promise<void>;
  /** The tree is whole. @throws SvcError as `take`, `rate_limited` */
  end(upload: { id: string; digest: Uint8Array; operator: string }): Promise<void>;
  /** Makes one of an archive, or of published files. @returns its id @throws SvcError `rate_limited`, `bad_request` */
  make(wanted: WantedPlan, archive?: Uint8Array): Promise<string>;
  store: PlanStore;
}

const maxTreeBytes = 64 * 1024 * 1024;
/** In the whole fleet. */
const maxAtOnce = 2;
const busyRetryMs = 5_000;
const turnMs = 10;
const beatMs = 10_000;
const maxProblem = 2_000;
/** Templates of strangers may take their limits for every peel. */
const maxMakingMs = 10 * 60_000;

export function createPlans(deps: PlansDeps): Plans {
  const { store, clock, random } = deps;
  const create = async (wanted: WantedPlan, state: "uploading" | "compiling"): Promise<Found> => {
    const { peels, ...rest } = wanted;
    const [list] = await store.putParts(gzipSync(encode(peels)));
    const now = clock.now();
    return store.create({
      ...defined(rest),
      ...{ id: newId("pln", now, random), createdAt: now, updatedAt: now, state },
      ...{ peels: Buffer.from(list ?? []).toString("hex"), parts: [], size: 0 },
    } as PlanRecord);
  };
  const assertRoom = async () => {
    const making = await store.making();
    if (making.length < maxAtOnce) return;
    throw new SvcError("rate_limited", `${making.length} plans are being made: ask again in a moment`, {
      retryAfterMs: busyRetryMs,
    });
  };
  /** @throws SvcError */
  const uploading = async (id: string, operator: string): Promise<Found> => {
    const found = await store.get(id);
    if (found.plan.operator !== operator) {
      throw new SvcError("not_found", `the upload ${id} does not exist, or another operator began it`);
    }
    if (found.plan.state !== "uploading") throw new SvcError("conflict", `the upload ${id} has ended`);
    return found;
  };
  return {
    store,
    begin: async (wanted) => (await create(wanted, "uploading")).plan.id,
    async take({ id, seq, bytes, operator }) {
      if (bytes.length === 0 || bytes.length > maxPartBytes) {
        throw new SvcError("bad_request", `bytes: a chunk must have 1 to ${maxPartBytes} bytes`);
      }
      const found = await uploading(id, operator);
      const { parts, size } = found.plan;
      if (seq !== parts.length) throw new SvcError("conflict", `seq: chunk ${parts.length} is next`);
      if (size + bytes.length > maxTreeBytes) {
        throw new SvcError("too_large", "the tree must have at most 64 MiB as it is sent");
      }
      const [part] = await store.putParts(bytes);
      await store.update(found, {
        parts: [...parts, ...(part === undefined ? [] : [part])],
        size: size + bytes.length,
      });
    },
    async end({ id, digest, operator }) {
      const found = await uploading(id, operator);
      await assertRoom();
      const sent = Buffer.concat(await Promise.all(found.plan.parts.map(store.part)));
      if (Buffer.compare(sha256(sent), digest) !== 0) {
        throw new SvcError("bad_request", "end: the chunks are not what this digest is of");
      }
      const tree = readSentTree(sent, found.plan.environment);
      run(deps, await store.update(found, { state: "compiling", parts: [], size: 0 }), tree);
    },
    async make(wanted, archive) {
      await assertRoom();
      const tree = archive && readSentTree(archive, wanted.environment);
      const found = await create(wanted, "compiling");
      run(deps, found, tree);
      return found.plan.id;
    },
  };
}

/** Makes it in the background, and stores how that ended. */
function run(deps: PlansDeps, begun: Found, tree: SentTree | undefined): void {
  const { store, clock, log } = deps;
  let found = begun;
  const started = clock.monotonic();
  let [turn, beat] = [started, started];
  const pause = async () => {
    if (clock.monotonic() - turn < turnMs) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    turn = clock.monotonic();
    if (turn - started > maxMakingMs) {
      throw new SvcError("unavailable", "it takes longer than 10 minutes: plan for fewer peels at once");
    }
    if (turn - beat < beatMs) return;
    beat = turn;
    found = await store.update(found, {});
  };
  const work = async () => {
    const document = await documentOf(deps, begun.plan, tree, pause);
    const packed = gzipSync(Buffer.from(JSON.stringify(document)), { level: 1 });
    const parts = await store.putParts(packed);
    found = await store.update(found, { state: "done", parts, size: packed.length });
    log.info("plan made", {
      ...{ plan: begun.plan.id, operator: begun.plan.operator, peels: document.peels },
      ...{ groups: document.groups.length, duration_ms: Math.round(clock.monotonic() - started) },
    });
  };
  work().catch(async (thrown) => {
    const { kind, message } = toSvcError(thrown);
    log[kind === "internal" ? "error" : "info"]("a plan cannot be made", {
      plan: begun.plan.id,
      error: thrown,
    });
    await store.update(found, { state: "failed", problem: beginningOf(message, maxProblem) }).catch(() => {
      // It cannot be recorded: after a minute the plan counts as failed.
    });
  });
}

async function documentOf(
  deps: PlansDeps,
  plan: PlanRecord,
  tree: SentTree | undefined,
  pause: () => Promise<void>,
): Promise<PlanDocument> {
  const { store, factsOf, labelsOf, random, signal } = deps;
  const peels = decode(gunzipSync(await store.part(Buffer.from(plan.peels, "hex")))) as string[];
  const { environment, commit } = plan;
  const published = async () => deps.openFiles({ environment, ...defined({ commit }) });
  const after: PlannedFiles =
    tree?.files === undefined ? fromPublished(await published()) : { ...tree.files, commit: localCommit };
  const base = plan.sinceLastRun === true ? undefined : await deps.openFiles({ environment: "base" });
  const interning = createInterning();
  const ordersOf = (files: FileSource): Orders => createOrders({ files, compat: deps.compat, interning });
  const compilers = createCompilers({ strictFacts: deps.strictFacts, random });
  const current = deps.settings();
  const manyOf = (of: SettingsTree): Side["settings"] => {
    const compiler = compilers(of);
    return { ...createManySettings(compiler), trace: compiler.trace };
  };
  const now = manyOf(current);
  const next = tree?.settings === undefined ? now : manyOf(tree.settings);
  const body = await makePlan({
    ...{ peels, factsOf, labelsOf, tokens: createPlanTokens(random), pause, signal },
    before: base === undefined ? sideOfRuns(deps, ordersOf, now) : sideOf(base.source, ordersOf, now),
    after: sideOf(after.source, ordersOf, next),
  });
  return {
    ...{ id: plan.id, created_at: rfc3339(plan.createdAt), operator: plan.operator, target: plan.target },
    ...{ environment, commit: after.commit, snapshot: after.snapshot },
    compared_with: base === undefined ? "last run" : shownContent(base.content),
    ...body,
    notes: [...(tree?.notes ?? []), ...body.notes],
  };
}

interface PlannedFiles {
  source: FileSource;
  snapshot: string;
  commit: string;
}

const fromPublished = ({ source, content }: OpenedEnvironment): PlannedFiles => ({
  ...{ source, snapshot: content.snapshot, commit: content.commit },
});

const shownContent = ({ environment, commit, snapshot }: Content) => ({ environment, commit, snapshot });

function sideOf(
  files: FileSource,
  ordersOf: (files: FileSource) => Orders,
  settings: Side["settings"],
): Side {
  const orders = ordersOf(files);
  return { settings, ordersFor: async () => ({ orders, files }) };
}

/** What each peel ran last, with the settings of now. */
function sideOfRuns(
  { lastRunOf, openFiles }: PlansDeps,
  ordersOf: (files: FileSource) => Orders,
  settings: Side["settings"],
): Side {
  const known = new Map<string, Promise<{ orders: Orders; files: FileSource }>>();
  return {
    settings,
    async ordersFor(peelId) {
      const snapshot = lastRunOf(peelId);
      if (snapshot === undefined) return undefined;
      const open = async () => {
        const { source } = await openFiles({ environment: "base", snapshot });
        return { orders: ordersOf(source), files: source };
      };
      const found = known.get(snapshot) ?? open();
      known.set(snapshot, found);
      return found;
    },
  };
}

/** A stored plan. @throws SvcError `not_found`, `storage` */
export async function readDocument(store: PlanStore, { parts }: PlanRecord): Promise<PlanDocument> {
  const packed = Buffer.concat(await Promise.all(parts.map(store.part)));
  return JSON.parse(gunzipSync(packed).toString()) as PlanDocument;
}
