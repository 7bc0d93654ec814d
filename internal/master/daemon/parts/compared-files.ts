import { assemble } from "../../../program/health/mod.ts";
import { followComparedFiles, type Place } from "../../compared-files/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { SitesPart } from "./sites.ts";

/** The files that each master reads from its own host, compared with those of the others. */
export const comparedFiles = {
  start: ({ base, sites: { others } }: { base: MasterDeps; sites: SitesPart }) =>
    assemble((stack) => {
      const { config, settingsKeys: keys, filePatienceMs: patienceMs, clock, log } = base;
      const compared = followComparedFiles({
        ...{ places: placesOf(config), authDir: config.auth_dir, keys, others, clock, log },
        ...(patienceMs === undefined ? {} : { patienceMs }),
      });
      stack.defer(() => compared.stop());
      return { reportFiles: compared.report, checks: { files: compared.check } };
    }),
};

/** Where each kind is. */
const placesOf = (config: MasterDeps["config"]): Readonly<Record<string, Place>> => ({
  settings: { path: config.settings_dir, is: "directory", asSettings: true },
  reactor: { path: config["reactor.dir"], is: "directory", asSettings: true },
  roles: { path: config.roles_file, is: "file" },
  policy: { path: config["enroll.policy"], is: "file" },
  states: { path: config.states_dir, is: "directory", asSettings: false },
});
