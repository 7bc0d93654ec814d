import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { type Kind, type Kinds, maxKinds } from "../../tree/check/mod.ts";
import { type SettingsCompiler, SettingsFault, type SettingsTree } from "../../tree/settings/mod.ts";
import { readFacts } from "../../wire/facts.ts";
import type { FollowedTree } from "./follow.ts";
import { valueWith } from "./mask.ts";
import { createTokens } from "./tokens.ts";
import type { Peels } from "./tracker.ts";

/** Finds the kinds of a fleet, with the settings that are in force. */
export interface KindsReader {
  /** @throws SvcError `storage` */
  read(): Promise<Kinds>;
  /** The settings files that are in force. */
  version(): SettingsTree;
  stop(): void;
}

/** Peels that are read at the same time. */
const lanes = 16;
/** How long peels are read: a part of the time that a check may take. */
const readMs = 30_000;
/**
 * For these milliseconds the fleet is not read again, unless a peel joins or gets labels: for the pages of one answer,
 * and for several environments.
 */
const freshMs = 5_000;
/** Facts that say what system it is. */
const systemFacts = ["kernel", "os", "os_family", "osrelease", "oscodename", "osarch", "init"] as const;

export function createKindsReader(deps: {
  tree: Pick<FollowedTree, "tree">;
  peels: Pick<Peels, "members" | "facts" | "labelsOf" | "onMember" | "onFacts">;
  compilerOf(tree: SettingsTree): Pick<SettingsCompiler, "compile">;
  random: Random;
  clock: Pick<Clock, "monotonic">;
}): KindsReader {
  let known: { tree: SettingsTree; at: number; kinds: Promise<Kinds> } | undefined;
  /** Peels that had no facts: with their first ones they count. */
  let bare: ReadonlySet<string> = new Set();
  const forget = () => {
    known = undefined;
  };
  const stops = [
    deps.peels.onMember(forget),
    deps.peels.onFacts((peelId) => {
      if (bare.has(peelId)) forget();
    }),
  ];
  return {
    version: () => deps.tree.tree,
    read() {
      const { tree } = deps.tree;
      const now = deps.clock.monotonic();
      if (known?.tree === tree && now - known.at < freshMs) return known.kinds;
      const lacking = new Set<string>();
      bare = lacking;
      const kinds = findKinds({ ...deps, compiler: deps.compilerOf(tree), lacking });
      const found = { tree, at: Number.POSITIVE_INFINITY, kinds };
      known = found;
      kinds.then(() => {
        found.at = deps.clock.monotonic();
      }, forget);
      return kinds;
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

interface Finding {
  /** Gets the peels without facts. */
  lacking: Set<string>;
  peels: Pick<Peels, "members" | "facts" | "labelsOf">;
  compiler: Pick<SettingsCompiler, "compile">;
  random: Random;
  clock: Pick<Clock, "monotonic">;
}

interface Counted {
  peelId: string;
  peels: number;
}

async function findKinds(finding: Finding): Promise<Kinds> {
  const { peels, compiler, random, clock } = finding;
  const begun = clock.monotonic();
  const counted = new Map<string, Counted>();
  let left = 0;
  await mapBounded([...peels.members()].sort(), { atOnce: lanes }, async (peelId) => {
    if (clock.monotonic() - begun >= readMs) {
      left++;
      return;
    }
    const key = await keyOf(peelId, finding);
    if (key === undefined) {
      finding.lacking.add(peelId);
      return;
    }
    const found = counted.get(key);
    const first = found === undefined || peelId < found.peelId ? peelId : found.peelId;
    counted.set(key, { peelId: first, peels: (found?.peels ?? 0) + 1 });
  });
  const sorted = [...counted.values()].sort((a, b) => b.peels - a.peels || (a.peelId < b.peelId ? -1 : 1));
  for (const { peels: more } of sorted.slice(maxKinds)) left += more;
  const hide = createTokens(random);
  const kinds: Kind[] = [];
  for (const { peelId, peels: count } of sorted.slice(0, maxKinds)) {
    const subject = await subjectOf(peelId, peels);
    if (subject === undefined) continue;
    const compiled = await unlessFault(() => compiler.compile(subject, new Set()));
    const settings = compiled === undefined ? undefined : valueWith(compiled.merged, hide);
    kinds.push({ ...subject, peels: count, ...(isMap(settings) ? { settings } : {}) });
  }
  return { kinds, left };
}

/** The same for peels of one kind; `undefined` for one that has no facts. */
async function keyOf(peelId: string, { peels, compiler }: Finding): Promise<string | undefined> {
  const subject = await subjectOf(peelId, peels);
  if (subject === undefined) return undefined;
  const { facts, labels } = subject;
  const compiled = await unlessFault(() => compiler.compile(subject, new Set()));
  const system = systemFacts.map((name) => textOf(facts[name]));
  const shape = compiled === undefined ? null : shapeOf({ ...compiled.settings });
  const sortedLabels = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([system, sortedLabels, shape]))
    .digest("base64");
}

/** A peel may report anything. */
const textOf = (fact: Plain | undefined): string =>
  typeof fact === "string" ? fact.slice(0, 100) : typeof fact;

async function subjectOf(
  peelId: string,
  peels: Finding["peels"],
): Promise<Pick<Kind, "peelId" | "facts" | "labels"> | undefined> {
  const stored = await peels.facts(peelId);
  const facts = stored === undefined ? undefined : readFacts(stored);
  return facts === undefined ? undefined : { peelId, facts, labels: peels.labelsOf(peelId) ?? {} };
}

async function unlessFault<Value>(run: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof SettingsFault) return undefined;
    throw thrown;
  }
}

/** The names in settings and the types of their values; of lists, those of their items, however many there are. */
export function shapeOf(value: Plain): unknown {
  if (Array.isArray(value)) {
    const shapes = value.map((item) => JSON.stringify(shapeOf(item)));
    return ["list", ...[...new Set(shapes)].sort()];
  }
  if (!isMap(value)) return value === null ? "null" : typeof value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, shapeOf(value[name] ?? null)]));
}
