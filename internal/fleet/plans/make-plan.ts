import { mapBounded } from "../../base/map-bounded.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { FileSource } from "../../tree/files/mod.ts";
import {
  comparePeel,
  createGrouping,
  type Ground,
  type Group,
  isKnown,
  type ManySettings,
  type Order,
  type Orders,
  type Outcome,
  type Subject,
} from "../../tree/plan/mod.ts";
import { type Merged, type SettingsCompiler, SettingsFault } from "../../tree/settings/mod.ts";
import type { PlanCause, PlanDocument, PlanGroup } from "./plan-document.ts";
import { createPlanSettings } from "./settings-of-peel.ts";
import type { PlanTokens } from "./tokens.ts";

/** Files and settings that orders are compiled with. */
export interface Side {
  /** What a peel gets; `undefined` for one that never ran anything. @throws SvcError */
  ordersFor(peelId: string): Promise<{ orders: Orders; files: FileSource } | undefined>;
  settings: ManySettings & Pick<SettingsCompiler, "trace">;
}

export interface MakingPlan {
  /** Sorted encoded ids. */
  peels: readonly string[];
  before: Side;
  after: Side;
  /** What a peel reported; `undefined` for one that stored nothing that can be read. @throws SvcError `storage` */
  factsOf(peelId: string): Promise<Readonly<Record<string, Plain>> | undefined>;
  labelsOf(peelId: string): Readonly<Record<string, string>>;
  tokens: PlanTokens;
  /** Lets others have a turn. */
  pause(): Promise<void>;
  signal: AbortSignal;
}

type Body = Pick<PlanDocument, "peels" | "unchanged" | "causes" | "groups" | "cannot_be_bound" | "notes">;

/** Facts of peels that are read at the same time. */
const lanes = 32;

/** Compiles what would be ordered for each peel, and compares it with what is ordered now. @throws SvcError */
export async function makePlan(making: MakingPlan): Promise<Body> {
  const { peels, signal } = making;
  const grouping = createGrouping();
  const unbound: Body["cannot_be_bound"] = [];
  const notes = new Set<string>();
  const compare = comparing(making, notes);
  // Facts come from the bus, and each is compiled after the one before: a kind is compiled once.
  let turn: Promise<void> = Promise.resolve();
  await mapBounded(peels, { atOnce: lanes, signal }, async (peelId) => {
    const facts = await making.factsOf(peelId);
    const next = turn.then(async () => {
      signal.throwIfAborted();
      const peel = displayPeelId(peelId);
      if (facts === undefined) {
        unbound.push({ peel, reason: "it has stored no facts" });
        return;
      }
      const { outcome, reason } = await compare(peelId, { ...facts, id: peel });
      if (reason !== undefined) unbound.push({ peel, reason });
      grouping.add(peelId, outcome);
    });
    turn = next.catch(() => {});
    await next;
  });
  const groups = grouping.groups();
  return {
    ...{ peels: peels.length, unchanged: grouping.unchanged, causes: causesOf(groups) },
    groups: groups.map(shownGroup),
    cannot_be_bound: unbound.sort((a, b) => (a.peel < b.peel ? -1 : 1)),
    notes: [...notes].sort(),
  };
}

interface Compared {
  outcome: Outcome;
  /** Why the plan cannot bind it. */
  reason?: string;
}

function comparing(making: MakingPlan, notes: Set<string>) {
  const { before, after, tokens, labelsOf } = making;
  const nothing = nothingOrdered();
  const settingsOf = createPlanSettings(tokens.tokenOf);
  /** Of peels with the same two orders, the first one is compared. */
  const known = new WeakMap<Order, WeakMap<Order, Outcome>>();
  return async (peelId: string, facts: Readonly<Record<string, Plain>>): Promise<Compared> => {
    await making.pause();
    const peel = { peelId, facts, labels: labelsOf(peelId) };
    try {
      const now = await groundOf(after, peel, settingsOf);
      if (now === undefined) return { outcome: { changes: [], restarts: [] }, reason: "it gets no files" };
      noteVolatile(now.order, notes);
      const old = (await groundOf(before, peel, settingsOf)) ?? { ...now, order: nothing };
      const pairs = known.get(old.order) ?? new WeakMap<Order, Outcome>();
      known.set(old.order, pairs);
      const outcome = pairs.get(now.order) ?? (await comparePeel(old, now, tokens.hide));
      pairs.set(now.order, outcome);
      return isKnown(now.order)
        ? { outcome }
        : { outcome, reason: String(tokens.hide(unknownReason(now.order))) };
    } catch (thrown) {
      if (!(thrown instanceof SettingsFault)) throw thrown;
      const error = `settings/${thrown.message}`;
      return { outcome: { changes: [], restarts: [], error: [error] }, reason: error };
    }
  };
}

const unknownReason = ({ unknown, problems }: Order): string =>
  unknown[0] ?? `its files cannot be compiled: ${problems[0]?.message ?? ""}`;

/** What a peel gets that never ran anything. */
const nothingOrdered = (): Order => ({
  ...{ states: [], targets: [], problems: [], unknown: [], questions: [], files: new Map() },
  reads: { facts: new Set(), labels: new Set(), settings: new Set() },
});

/** @throws SettingsFault, SvcError */
async function groundOf(
  side: Side,
  peel: Pick<Subject, "peelId" | "facts" | "labels">,
  settingsOf: ReturnType<typeof createPlanSettings>,
): Promise<Ground | undefined> {
  const found = await side.ordersFor(peel.peelId);
  if (found === undefined) return undefined;
  const { merged } = await side.settings.of(peel);
  const subject: Subject = { ...peel, ...settingsOf(merged) };
  let traced: Promise<Merged> | undefined;
  return {
    order: await found.orders.of(subject),
    subject,
    async textOf(path) {
      if (found.files.stat(path) === undefined) return undefined;
      return Buffer.from(await found.files.read(path)).toString();
    },
    async placeOf(path) {
      // Only a traced compilation knows the lines of templates, and it takes longer.
      traced ??= side.settings.trace(peel);
      let at: Merged | undefined = await traced;
      for (const name of path) at = at?.entries?.get(name) ?? (at?.entries === undefined ? at : undefined);
      const set = at?.sets.at(-1);
      if (set === undefined) return undefined;
      const { file, line } = set.layer.source(set.at);
      return { file: `settings/${file}`, line };
    },
  };
}

/** Names of facts whose values change without anybody changing something. */
const volatile = /uptime|(?:^|_)load|(?:mem|swap|disk)_?(?:free|used|available)|boot_id|(?:^|_)time$|last_/;

function noteVolatile({ files }: Order, notes: Set<string>): void {
  for (const [path, { questions }] of files) {
    for (const each of questions) {
      const name = each.kind === "read" && each.table === "facts" ? each.path[0] : undefined;
      if (name === undefined || !volatile.test(name)) continue;
      notes.add(`fact ${name} changes by itself, and ${path} reads it: the plan holds for this moment`);
    }
  }
}

function shownGroup(group: Group): PlanGroup {
  const { peels, changes, error, unknown, errorBefore, restarts } = group;
  return {
    ...{ count: peels.length, peels: peels.map(displayPeelId) },
    changes: changes.map(({ before, after, why, ...change }) => ({
      ...change,
      ...(before && { before: { ...before } }),
      ...(after && { after: { ...after } }),
      why: why.map((each) => ({ ...each })),
    })),
    ...(error && { error: [...error] }),
    ...(unknown && { unknown: [...unknown] }),
    ...(errorBefore && { error_before: [...errorBefore] }),
    ...(restarts.length === 0 ? {} : { restarts: [...restarts] }),
  };
}

/** What makes a difference, with how many peels it changes something for. */
function causesOf(groups: readonly Group[]): PlanCause[] {
  const found = new Map<string, PlanCause>();
  for (const { changes, peels } of groups) {
    const own = new Map(
      changes.flatMap(({ why }) => why.map((cause) => [JSON.stringify(cause), cause] as const)),
    );
    for (const [key, cause] of own) {
      const known = found.get(key) ?? { ...cause, peels: 0, groups: 0 };
      found.set(key, { ...known, peels: known.peels + peels.length, groups: known.groups + 1 });
    }
  }
  return [...found.values()].sort((a, b) => b.peels - a.peels);
}
