import { dirname, isAbsolute, join, resolve } from "node:path";
import { publicMode, secretMode } from "../../base/files/file.ts";
import type { Plain } from "../../base/msgpack.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { functionNames } from "../../host/modules/mod.ts";
import { stateRegistry } from "../../tree/functions/mod.ts";
import type { HostFunctions } from "../../tree/template/mod.ts";
import { compileHosts } from "./compile-hosts.ts";
import { type Copied, copyTree, newBudget } from "./copy-tree.ts";
import { readExpectedHosts } from "./expected-hosts.ts";
import { type MasterConfig, readMasterConfig, textsOf } from "./master-config.ts";
import { readNodeGroups } from "./node-groups.ts";
import { listOtherKeys, masterPart } from "./other-keys.ts";
import { createOutput, type OutputDirectory } from "./output.ts";
import { readReactor } from "./reactor.ts";
import { Items, type Report, reportPage, type Written } from "./report.ts";
import { type Environment, locateBelow, readRoots, refuseOverlap } from "./roots.ts";
import { scanSettings, scanStates } from "./scan-states.ts";
import { readSchedules } from "./schedule.ts";
import { listSecrets } from "./secrets.ts";

export interface ImportOptions {
  masterConfig: string;
  out: string;
  /** The directory that holds the file system of the Salt master: `/`, or a copy of it. */
  root: string;
  /** Facts to compile with where the cache of the Salt master has none. */
  facts: Readonly<Record<string, Plain>>;
  /** What templates may ask of this host while the result is compiled. */
  host: HostFunctions;
  /** Called between files and hosts; throws when the import was stopped. */
  pause(): Promise<void>;
}

/** The largest state file that masters publish, and the largest settings file that they read, in bytes. */
const maxStateFile = 256 * 1024 * 1024;
const maxSettingsFile = 1024 * 1024;

/**
 * Writes the states, settings, groups, rules, schedules and expected hosts of a Salt master to a new directory,
 * with a report. Reads files only, and writes nowhere else.
 *
 * @throws SvcError when the configuration or a directory cannot be read, or `out` is not empty; nothing remains
 */
export async function importSalt(options: ImportOptions): Promise<Report> {
  const items = new Items();
  const locate = locateBelow(options.root);
  const config = readMasterConfig(resolve(options.masterConfig));
  const reading = { locate, items };
  const stateRoots = readRoots(config, "file_roots", ["/srv/salt", "/srv/spm/salt"], reading);
  const pillarRoots = readRoots(config, "pillar_roots", ["/srv/pillar", "/srv/spm/pillar"], reading);
  refuseOverlap(options.out, [...stateRoots, ...pillarRoots]);
  using out = createOutput(options.out);
  const copy = copierOf(out, items, options);
  const states = await copy("states", stateRoots);
  const settings = await copy("settings", pillarRoots);
  scanStates(
    states.all,
    { states: (await stateRegistry.all()).map(({ name }) => name), peel: functionNames },
    items,
  );
  scanSettings(settings.all, items);
  listSecrets(settings.all, items);
  listOtherKeys(config, items);

  const groups = writeGroups(config, settings.base, out, items);
  const schedules = readSchedules(settings.base, items);
  for (const [at, [path, entries]] of [...schedules].entries()) {
    const head = `# For peel.yaml of the peels whose settings come from ${path}.\n`;
    out.write(`schedules/${at + 1}.yaml`, `${head}${formatYaml({ schedule: entries })}`, publicMode);
  }
  const rules = readReactor(config, states.base, reading);
  for (const { name, rule } of rules) {
    out.write(`reactor/${name}.yaml`, formatYaml({ rules: [rule] }), publicMode);
  }
  const hosts = readExpectedHosts(pkiOf(config, options), items);
  out.write("expected-hosts", hosts.map((name) => `${name}\n`).join(""), publicMode);
  const master = masterPart(config, items);
  if (master !== "") out.write("master.yaml", master, publicMode);

  const checked = await compileHosts({
    ...options,
    states: states.base.length === 0 ? undefined : join(out.reach, "states"),
    settings: settings.base.length === 0 ? undefined : join(out.reach, "settings"),
    hosts,
    cache: locate(textsOf(config.keys.get("cachedir")?.value)[0] ?? "/var/cache/salt/master"),
    items,
  });
  const written: Written = {
    states: states.all.length,
    settings: settings.all.length,
    groups,
    rules: rules.length,
    schedule_entries: [...schedules.values()].reduce((sum, entries) => sum + Object.keys(entries).length, 0),
    expected_hosts: hosts.length,
  };
  const { items: needsHand, omitted } = items.sorted();
  const report: Report = {
    master_config: resolve(options.masterConfig),
    config_files: [...config.files],
    dir: resolve(options.out),
    written,
    checked,
    needs_hand: needsHand,
    omitted,
  };
  out.write("report.json", `${JSON.stringify(report, undefined, 2)}\n`, publicMode);
  out.write("report.md", reportPage(report), publicMode);
  out.publish();
  return report;
}

/** Copies all environments: `base` to where masters look for it, each other one to a directory of its own. */
function copierOf(out: OutputDirectory, items: Items, { pause }: ImportOptions) {
  const budget = newBudget();
  return async (about: "states" | "settings", environments: readonly Environment[]) => {
    const all: Copied[] = [];
    let base: Copied[] = [];
    for (const environment of environments) {
      const isBase = environment.name === "base";
      const copied = await copyTree(environment, {
        about,
        into: isBase ? about : `environments/${environment.name}/${about}`,
        mode: about === "states" ? publicMode : secretMode,
        max: about === "states" ? maxStateFile : maxSettingsFile,
        out,
        items,
        budget,
        pause,
      });
      if (!isBase && copied.length > 0) {
        items.add(
          about,
          { file: `environments/${environment.name}/${about}` },
          `the environment ${environment.name} is not base`,
          about === "states"
            ? "Publish it as a branch of a Git repository, see docs/publishing-states.md"
            : "Settings have base alone: move what you need there",
        );
      }
      all.push(...copied);
      if (isBase) base = copied;
    }
    return { all, base };
  };
}

/** @returns the number of groups */
function writeGroups(
  config: MasterConfig,
  settings: readonly Copied[],
  out: OutputDirectory,
  items: Items,
): number {
  const groups = readNodeGroups(config, items);
  const count = Object.keys(groups).length;
  if (count === 0) return 0;
  if (settings.some(({ below }) => below === "nodegroups.yaml")) {
    items.add("groups", { file: "settings/nodegroups.yaml" }, "the settings have this file", "Merge both");
    out.write("nodegroups.yaml", formatYaml(groups), publicMode);
  } else out.write("settings/nodegroups.yaml", formatYaml(groups), publicMode);
  return count;
}

/** The directory of the keys: as the option says, or next to the configuration. */
function pkiOf(config: MasterConfig, { masterConfig, root }: ImportOptions): string {
  const locate = locateBelow(root);
  const [named] = textsOf(config.keys.get("pki_dir")?.value);
  if (named === undefined) return join(dirname(resolve(masterConfig)), "pki/master");
  const [prefix = "/"] = textsOf(config.keys.get("root_dir")?.value);
  return locate(isAbsolute(named) ? named : join(prefix, named));
}
