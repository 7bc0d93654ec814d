import { dirname, join, resolve } from "node:path";
import { publicMode, readTextIfPresent, writeFileAtomic } from "../../../base/files/file.ts";
import { writing } from "../../../base/files/new-files.ts";
import { removeLeftovers } from "../../../base/files/remove-leftovers.ts";
import { formatYaml } from "../../../base/yaml/yaml.ts";

const pinsBlock = /^enroll_ca_pin:.*\n(?:[ \t]*-.*\n)*/m;

/**
 * Writes the pins of the phase to the `peel.yaml` that `svc init` wrote next to the `auth` directory, so that hosts
 * that join now can verify masters in this phase and in the next. Other files are not touched.
 *
 * @param dir the CA directory
 * @returns the file, where it was changed
 */
export function updatePeelFile(dir: string, pins: readonly string[]): string | undefined {
  const path = join(dirname(dirname(resolve(dir))), "peel.yaml");
  const text = readTextIfPresent(path);
  if (text === undefined || !text.startsWith("# Written by svc init")) return undefined;
  const block = formatYaml({ enroll_ca_pin: [...pins] });
  const next = text.replace(pinsBlock, () => block);
  if (next === text) return undefined;
  writing(path, () => {
    removeLeftovers([path]);
    writeFileAtomic(path, next, publicMode);
  });
  return path;
}
