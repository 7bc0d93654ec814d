import { type Mount, parseMountInfo } from "../../../host/facts/mod.ts";
import type { System } from "../../../host/system/system.ts";

/** The mounts of this host, as the kernel has them at the moment. */
export function mountTable(system: System): readonly Mount[] {
  return parseMountInfo(system.read("/proc/self/mountinfo") ?? "");
}

/**
 * The mount that a path is in: the walk from the root, as the kernel does it. The order of the table does not
 * say that: a mount on a directory above hides what was mounted below it before.
 *
 * @param path without symbolic links
 * @param without a mount that is passed over, with everything on it
 */
function mountOf(table: readonly Mount[], path: string, without?: Mount): Mount | undefined {
  const ids = new Set(table.map(({ id }) => id));
  const isFirst = ({ id, parent }: Mount) => parent === id || !ids.has(parent);
  let found: Mount | undefined;
  for (let isDone = false; !isDone; ) {
    const at = found;
    const next = table
      .filter((mount) => (at === undefined ? isFirst(mount) : mount.parent === at.id && mount !== at))
      .filter(
        (mount) =>
          mount.id !== without?.id &&
          mount.path.length >= (at?.path.length ?? 0) &&
          isAtOrBelow(path, mount.path),
      )
      .sort((one, other) => one.path.length - other.path.length)[0];
    isDone = next === undefined;
    found = next ?? at;
  }
  return found;
}

/** The mount visible on a directory itself. */
export function mountOn(table: readonly Mount[], path: string): Mount | undefined {
  const mount = mountOf(table, path);
  return mount?.path === path ? mount : undefined;
}

/**
 * A path as the kernel has it in its table. A path that is mounted on is not read: on a dead network share that
 * never ends.
 */
export function tablePath(system: System, path: string): string {
  return mountOn(mountTable(system), path) === undefined ? system.realPath(path) : path;
}

/**
 * The directory of a file system that a path is, in the words of the table.
 *
 * @param without a mount that may hide it
 */
export function placeOf(
  table: readonly Mount[],
  path: string,
  without: Mount,
): Pick<Mount, "device" | "root"> | undefined {
  const mount = mountOf(table, path, without);
  if (mount === undefined) return undefined;
  const below = path.slice(mount.path === "/" ? 0 : mount.path.length);
  return { device: mount.device, root: `${mount.root}${below}`.replace(/\/+/g, "/").replace(/(.)\/$/, "$1") };
}

function isAtOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above === "/" ? "/" : `${above}/`);
}
