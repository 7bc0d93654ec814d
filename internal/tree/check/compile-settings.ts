import { createCompilers, SettingsFault, type SettingsTree, topFile } from "../settings/mod.ts";
import type { Turns } from "./budget.ts";
import type { Finding } from "./finding.ts";
import { judgeKinds, type KindFindings } from "./judge-kinds.ts";
import type { Kinds } from "./kind.ts";

/** Compiles settings files for one peel of each kind. */
export async function compileSettingsForKinds(
  tree: SettingsTree,
  kinds: Kinds,
  { strictFacts, turns }: { strictFacts: boolean; turns: Turns },
): Promise<KindFindings> {
  const compiler = createCompilers({ strictFacts })(tree);
  return await judgeKinds(kinds, turns, topFile, async ({ peelId, facts, labels }) => {
    try {
      await compiler.compile({ peelId, facts, labels }, new Set());
      return { faults: [], doubts: [] };
    } catch (thrown) {
      if (!(thrown instanceof SettingsFault)) throw thrown;
      return { faults: [findingOf(thrown.message)], doubts: [] };
    }
  });
}

/** A fault names its file and line, and never a value. */
function findingOf(message: string): Finding {
  const [, file, line, column, reason] =
    /^([^:\s]+)(?: \(rendered\))?:(\d+)(?::(\d+))?: (.*)$/s.exec(message) ?? [];
  if (file === undefined) return { file: topFile, line: 1, column: 1, reason: message };
  return { file, line: Number(line), column: Number(column ?? 1), reason: reason ?? message };
}
