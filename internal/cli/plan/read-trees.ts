import { existsSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { type TarFile, writeTar } from "../../base/files/tar.ts";
import { type Contents, createDirectoryScan, overlay } from "../../tree/files/mod.ts";

/** What is sent to masters to be planned. */
export interface PackedTrees {
  /** A tar archive with gzip: `states/` and `settings/`. */
  bytes: Uint8Array;
  /** What was left out, one line each. */
  notes: readonly string[];
}

const topFile = "top.sls";

/**
 * Reads checkouts as they lie, with what is not committed. One that has `states/top.sls` is a whole repository, and may
 * have settings as well.
 *
 * @throws SvcError `usage`, `bad_request`, `storage`, `too_large`
 */
export async function packTrees(
  trees: readonly string[],
  settings: string | undefined,
  clock: Clock,
): Promise<PackedTrees> {
  const notes: string[] = [];
  const read = async (directory: string): Promise<Contents> => {
    const { files, warnings } = await createDirectoryScan(directory, clock).scan();
    const links = warnings.map((line) => line.replace(/; not published$/, ""));
    const more = links.length > 1 ? ` (and ${links.length - 1} more)` : "";
    if (links[0] !== undefined) notes.push(`${directory}: left out: ${links[0]}${more}`);
    return files;
  };
  const whole = trees.filter((tree) => existsSync(join(tree, "states", topFile)));
  const withSettings = whole.filter((tree) => existsSync(join(tree, "settings", topFile)));
  if (settings === undefined && withSettings.length > 1) {
    throw new SvcError("usage", `${withSettings.join(" and ")} have settings: choose with --settings`);
  }
  for (const tree of trees) assertDirectory(tree);
  const roots = trees.map((tree) => (whole.includes(tree) ? join(tree, "states") : tree));
  const files = overlay(await Promise.all(roots.map(read)));
  const chosen = settings ?? withSettings.map((tree) => join(tree, "settings"))[0];
  if (chosen !== undefined) assertDirectory(chosen);
  const ofSettings = chosen === undefined ? new Map() : await read(chosen);
  if (trees.length > 0 && !files.has(topFile)) {
    throw new SvcError(
      "bad_request",
      `${trees.join(", ")}: ${topFile} is missing: is it a tree of state files?`,
    );
  }
  const all = [...(await tarFiles("states", files)), ...(await tarFiles("settings", ofSettings))];
  return { bytes: gzipSync(writeTar(all)), notes };
}

function assertDirectory(path: string): void {
  if (!existsSync(path)) throw new SvcError("bad_request", `${path} does not exist`);
}

async function tarFiles(directory: string, contents: Contents): Promise<TarFile[]> {
  const files: TarFile[] = [];
  for (const [path, content] of contents) {
    const pieces: Uint8Array[] = [];
    for await (const piece of content.pieces()) pieces.push(piece);
    files.push({
      ...{ path: `${directory}/${path}`, executable: content.executable },
      data: Buffer.concat(pieces),
    });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}
