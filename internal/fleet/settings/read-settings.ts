import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import {
  type Merged,
  type SettingsCompiler,
  SettingsFault,
  type SettingsTree,
  topFile,
} from "../../tree/settings/mod.ts";
import { readFacts } from "../../wire/facts.ts";
import type { FollowedTree } from "./follow.ts";
import type { Peels } from "./tracker.ts";

/** Compiles the settings of one peel for display, from the files of this master. */
export interface SettingsReader {
  /**
   * @param peelId encoded id of a member
   * @throws SvcError `not_found` when the peel has no facts; `conflict` when its settings cannot be compiled;
   *   `unavailable` when this master has no files
   */
  read(peelId: string): Promise<Merged>;
}

export function createSettingsReader(deps: {
  tree: Pick<FollowedTree, "tree" | "problem">;
  peels: Pick<Peels, "facts" | "labelsOf">;
  compilerOf(tree: SettingsTree): Pick<SettingsCompiler, "trace">;
}): SettingsReader {
  const { tree: followed, peels } = deps;
  return {
    async read(peelId) {
      const { tree } = followed;
      if (!tree.files.has(topFile)) {
        if (followed.problem !== undefined) throw new SvcError("unavailable", followed.problem);
        throw new SvcError("unavailable", `this master has no ${topFile} in ${tree.directory}`);
      }
      const name = displayPeelId(peelId);
      const stored = await peels.facts(peelId);
      const facts = stored === undefined ? undefined : readFacts(stored);
      if (facts === undefined) {
        throw new SvcError("not_found", `${name} has no settings yet: it has stored no facts`);
      }
      try {
        return await deps.compilerOf(tree).trace({ peelId, facts, labels: peels.labelsOf(peelId) });
      } catch (thrown) {
        if (!(thrown instanceof SettingsFault)) throw thrown;
        throw new SvcError("conflict", `the settings of ${name} cannot be compiled: ${thrown.message}`, {
          cause: thrown,
        });
      }
    },
  };
}
