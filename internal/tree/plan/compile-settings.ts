import { type Compiled, type SettingsCompiler, SettingsFault } from "../settings/mod.ts";
import { createMemo } from "./memo.ts";
import { createViews, type Subject } from "./subject.ts";
import { createWatch } from "./watch.ts";

/** Compiles the settings of many peels. Those with equal inputs are compiled once, and get the same object. */
export interface ManySettings {
  /** @throws SettingsFault */
  of(peel: Pick<Subject, "peelId" | "facts" | "labels">): Promise<Compiled>;
}

const maxSettings = 256;

export function createManySettings(compiler: Pick<SettingsCompiler, "compile">): ManySettings {
  const memo = createMemo<Compiled | SettingsFault>(maxSettings);
  const viewOf = createViews();
  const none = { settings: {}, shownSettings: {} };
  return {
    async of(peel) {
      const view = viewOf({ ...peel, ...none });
      const found = memo.find(view) ?? (await compileOne());
      if (found instanceof SettingsFault) throw found;
      return found;

      async function compileOne(): Promise<Compiled | SettingsFault> {
        const { watch, noticed } = createWatch(view);
        // Functions that look for targets have other labels and facts here: they read all facts.
        const { meets: _, ...plain } = watch;
        const compiled = await compiler.compile({ ...peel, watch: plain }, new Set()).catch((thrown) => {
          if (thrown instanceof SettingsFault) return thrown;
          throw thrown;
        });
        memo.add(view, noticed.questions, compiled);
        return compiled;
      }
    },
  };
}
