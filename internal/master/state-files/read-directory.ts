import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Contents, createDirectoryScan } from "../../tree/files/mod.ts";
import type { Layer } from "../../tree/publication/mod.ts";

const shownWarnings = 20;

/** Reads `states_dir` repeatedly; when it cannot be read, the previous content stays. */
export function readDirectory(statesDir: string, clock: Clock, log: Log): () => Promise<Layer> {
  const scan = createDirectoryScan(statesDir, clock);
  let files: Contents | undefined;
  let warned = "";
  const warn = (lines: readonly string[]) => {
    const text = lines.join("\n");
    if (text === warned) return;
    warned = text;
    for (const line of lines.slice(0, shownWarnings)) {
      log.warn("states_dir", { directory: statesDir, warning: line });
    }
  };
  return async () => {
    try {
      const found = await scan.scan();
      files = found.files;
      warn(found.warnings);
    } catch (thrown) {
      warn([describeError(thrown)]);
    }
    const environments = new Map(files === undefined ? [] : [["base", { files }] as const]);
    return { environments, confirmed: files !== undefined };
  };
}
