import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Facts } from "../../host/facts/mod.ts";
import type { SettingsStore } from "../../host/modules/mod.ts";
import { createCompilers, readTree, type SettingsTree } from "../../tree/settings/mod.ts";
import { secretValues, shownSettings } from "./secret-values.ts";
import { type FedSettingsStore, settingAt } from "./store.ts";

/**
 * Compiles the settings of this host from a directory, without a master.
 *
 * @throws SettingsFault
 */
export async function localSettings(options: {
  directory: string;
  /** Encoded peel id. */
  peelId: string;
  facts(): Facts;
  /** What is read in place of the text of a file; the text itself, unless given. */
  read?(text: string): string;
}): Promise<SettingsStore & Pick<FedSettingsStore, "secrets">> {
  const { directory, peelId, facts, read } = options;
  const compilers = createCompilers();
  const compile = async () => {
    const tree = readTree(directory);
    if (tree.files.size === 0)
      throw new SvcError("bad_request", `${directory}: does not exist or contains no settings files (*.sls)`);
    const compiler = compilers(read === undefined ? tree : readAs(tree, read));
    return compiler.compile({ peelId, facts: facts() }, new Set());
  };
  let { settings, secrets } = await compile();
  return {
    resolved: true,
    reason: undefined,
    current: () => settings,
    labels: () => ({}),
    get: (path, fallback?: Plain) => settingAt(settings, path, fallback),
    shown: () => shownSettings(settings, secrets),
    secrets: () => secretValues(settings, secrets),
    async refresh() {
      const before = settings;
      ({ settings, secrets } = await compile());
      return !Bun.deepEquals(before, settings);
    },
  };
}

function readAs({ directory, files }: SettingsTree, read: (text: string) => string): SettingsTree {
  return {
    directory,
    files: new Map(
      [...files].map(([path, file]) => [
        path,
        file.text === undefined ? file : { ...file, text: read(file.text) },
      ]),
    ),
  };
}
