import { readFileSync } from "node:fs";
import { join } from "node:path";
import { localSettings } from "../../agent/settings/mod.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { decodeForeign, type Plain } from "../../base/msgpack.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import { isMap } from "../../base/plain-map.ts";
import { createDirectorySource } from "../../tree/files/mod.ts";
import { StateErrors, type StateProblem } from "../../tree/function/mod.ts";
import { compileStates } from "../../tree/language/mod.ts";
import { createTemplates, type HostFunctions } from "../../tree/template/mod.ts";
import type { Items } from "./report.ts";
import { withoutGpg } from "./without-gpg.ts";

type Facts = Readonly<Record<string, Plain>>;

export interface CompileHostsOptions {
  /** The written directories; `undefined` when there are no such files. */
  states: string | undefined;
  settings: string | undefined;
  hosts: readonly string[];
  /** Facts where the cache of the Salt master has no grains. */
  facts: Facts;
  /** What templates may ask of this host. */
  host: HostFunctions;
  /** Directory of the cache of the Salt master. */
  cache: string;
  items: Items;
  pause(): Promise<void>;
}

/** Hosts of one kind have the same problems. */
const maxHosts = 50;
const maxCacheBytes = 8 * 1024 * 1024;

/** Compiles settings and states for expected hosts, and adds what is wrong with them to the report. */
export async function compileHosts(
  options: CompileHostsOptions,
): Promise<{ hosts: number; with_grains: number }> {
  const { hosts, cache, facts, items, pause } = options;
  let withGrains = 0;
  const chosen = hosts.slice(0, maxHosts);
  for (const id of chosen) {
    await pause();
    const grains = cachedGrains(join(cache, "minions", id, "data.p"));
    if (grains !== undefined) withGrains++;
    const seen = { ...facts, ...grains, id };
    const settings = await settingsOf(id, seen, options);
    if (settings === undefined || options.states === undefined) continue;
    try {
      const { warnings } = await compileStates(
        {
          files: createDirectorySource(options.states),
          templates: createTemplates(),
          ...{ facts: seen, settings, compat: "salt", host: options.host },
          peelId: encodePeelId(id),
        },
        "highstate",
      );
      addProblems(warnings, "Correct it, or set salt_compat: salt on the peels", items);
    } catch (thrown) {
      if (!(thrown instanceof StateErrors)) throw thrown;
      addProblems(thrown.problems, `Found for ${id}; check again with svc state lint`, items);
    }
  }
  return { hosts: chosen.length, with_grains: withGrains };
}

function addProblems(problems: readonly StateProblem[], next: string, items: Items): void {
  for (const { file, line, message } of problems) {
    const place = { file: `states/${file ?? "top.sls"}`, line: line ?? 0 };
    // The scan of all files has it, with what to do.
    if (/^unknown state function/.test(message) && items.has(place.file, place.line)) continue;
    items.add("states", place, message, next);
  }
}

async function settingsOf(
  id: string,
  facts: Facts,
  { settings, items }: CompileHostsOptions,
): Promise<Facts | undefined> {
  if (settings === undefined) return {};
  try {
    const peelId = encodePeelId(id);
    // An encrypted value is in the report; what depends on other settings is compiled anyway.
    const local = { directory: settings, peelId, facts: () => facts, read: withoutGpg };
    return (await localSettings(local)).current();
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    const [, file, line, reason] =
      /^([^:\s]+)(?: \(rendered\))?:(\d+)(?::\d+)?: (.*)$/s.exec(thrown.message) ?? [];
    items.add(
      "settings",
      { file: file === undefined ? "settings" : `settings/${file}`, line: Number(line ?? 0) },
      reason ?? describeError(thrown),
      `Found for ${id}; its states were not compiled`,
    );
    return undefined;
  }
}

/** The grains that a minion sent last; `undefined` when there are none that can be read. */
function cachedGrains(path: string): Facts | undefined {
  try {
    const data = decodeForeign(readFileSync(path), maxCacheBytes);
    const grains = data !== null && typeof data === "object" && "grains" in data ? data.grains : undefined;
    return isMap(grains) ? grains : undefined;
  } catch {
    // The cache is an aid; without it the facts of this host are used, and the report tells how many had it.
    return undefined;
  }
}
