import type { Clock, Timer } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { type SettingsCompiler, SettingsFault, type SettingsTree, topFile } from "../../tree/settings/mod.ts";
import { createFactPacker, type FactMap } from "../../tree/targets/mod.ts";
import { readFacts } from "../../wire/facts.ts";
import type { FollowedTree } from "./follow.ts";
import { type Hide, valueWith } from "./mask.ts";
import { type Peels, trackSettings } from "./tracker.ts";

const lanes = 16;
/** Settings are secret, so they are not kept in memory when unused. */
const forgetMs = 10 * 60_000;

/** A secret has its name and nothing that a target could be compared with: each answer would tell a part of it. */
const withoutValue: Hide = () => ({});

/** The settings of the fleet for `I@`, compiled on demand from the files of this master. Secrets have no values. */
export interface SettingsView {
  /**
   * Settings by encoded peel id. A peel whose settings cannot be compiled has none.
   *
   * @throws SvcError `unavailable` when the settings files are missing or broken
   */
  load(): Promise<ReadonlyMap<string, FactMap>>;
  stop(): void;
}

export function createSettingsView(deps: {
  tree: FollowedTree;
  peels: Peels;
  compilerOf(tree: SettingsTree): SettingsCompiler;
  clock: Clock;
}): SettingsView {
  const { tree, peels, clock } = deps;
  const packer = createFactPacker();
  const settings = new Map<string, FactMap>();
  const tracker = trackSettings(tree, peels);
  let isLoaded = false;
  let loading: Promise<void> = Promise.resolve();
  let forget: Timer | undefined;

  const one = async (peelId: string) => {
    const uses = new Set<string>();
    try {
      const facts = peels.isMember(peelId) ? await peels.facts(peelId) : undefined;
      const reported = facts === undefined ? undefined : readFacts(facts);
      if (reported === undefined) {
        settings.delete(peelId);
        return;
      }
      const compiled = await deps
        .compilerOf(tree.tree)
        .compile({ peelId, facts: reported, labels: peels.labelsOf(peelId) }, uses);
      settings.set(peelId, packer.pack(valueWith(compiled.merged, withoutValue)).facts);
    } catch (thrown) {
      settings.delete(peelId);
      if (!(thrown instanceof SvcError) || thrown.kind === "storage") {
        tracker.mark(peelId);
        throw thrown;
      }
      if (thrown instanceof SettingsFault && thrown.wholeTree) {
        tracker.mark(peelId);
        throw new SvcError("unavailable", `target: I@ cannot be used: ${thrown.message}`);
      }
    } finally {
      tracker.done(peelId, uses.size === 0 ? undefined : uses);
    }
  };
  function* marked() {
    for (let peelId = tracker.take(); peelId !== undefined; peelId = tracker.take()) yield peelId;
  }
  const refresh = async () => {
    if (!isLoaded) tracker.markAll();
    isLoaded = true;
    await mapBounded(marked(), { atOnce: lanes }, one);
  };
  return {
    async load() {
      if (!tree.tree.files.has(topFile)) {
        throw new SvcError(
          "unavailable",
          `target: I@ cannot be used: this master has no ${topFile} in ${tree.tree.directory}`,
        );
      }
      forget?.cancel();
      const before = loading;
      loading = before.catch(() => {}).then(refresh);
      await loading;
      forget?.cancel();
      forget = clock.after(forgetMs, () => {
        settings.clear();
        isLoaded = false;
      });
      return settings;
    },
    stop() {
      forget?.cancel();
      tracker.stop();
    },
  };
}
