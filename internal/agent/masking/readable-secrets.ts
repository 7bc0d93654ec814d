import { lstatSync, readFileSync } from "node:fs";
import { attempt } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import type { JobReturn } from "../../wire/return.ts";
import type { Mask } from "./mask.ts";

/** Larger files are not read again. */
const maxBytes = 1024 * 1024;
const readableByOthers = 0o004;

/** The return of a run of states, with a warning for each file that it wrote with a secret and that every user may read. */
export function warnOfReadable(mask: Mask, result: JobReturn): JobReturn {
  const { return: value } = result;
  if (!isMap(value) || !Array.isArray(value.states)) return result;
  const found = new Map<string, string>();
  for (const state of value.states) if (isMap(state)) addReadable(found, mask, state as State);
  if (found.size === 0) return result;
  const before = Array.isArray(value.warnings) ? value.warnings : [];
  return {
    ...result,
    return: { ...(value as { [name: string]: Plain }), warnings: [...before, ...found.values()] },
  };
}

type State = { readonly [name: string]: Plain };

/** Changes of files have their paths as names. Of several states that write one file, the last one is named. */
function addReadable(
  found: Map<string, string>,
  mask: Mask,
  { id = "", at = id, result, changes }: State,
): void {
  if (result !== true || !isMap(changes)) return;
  for (const path of Object.keys(changes)) {
    const mode = path.startsWith("/") ? attempt(() => modeWithSecret(mask, path)) : undefined;
    if (mode === undefined) continue;
    const shown = mode.toString(8).padStart(4, "0");
    found.set(
      path,
      `${String(at)}: ${path} holds a secret value of the settings, and every user of the host may read it (mode ${shown})`,
    );
  }
}

/** The mode of a file that others may read and that has a secret in it. @throws where it cannot be read */
function modeWithSecret(mask: Mask, path: string): number | undefined {
  const { mode, size } = lstatSync(path);
  const isRegular = (mode & 0o170000) === 0o100000;
  if (!isRegular || (mode & readableByOthers) === 0 || size > maxBytes) return undefined;
  return mask.isIn(readFileSync(path)) ? mode & 0o7777 : undefined;
}
