import { readTextIfPresent } from "../../../base/files/file.ts";
import { parseMountInfo } from "../../../host/facts/mod.ts";

/**
 * Mount points at or below a path, according to the kernel; empty when the kernel provides no list.
 *
 * @param path without symbolic links: the kernel knows no other
 */
export function mountsAt(
  path: string,
  mountinfo = readTextIfPresent("/proc/self/mountinfo") ?? "",
): string[] {
  const prefix = path === "/" ? "/" : `${path}/`;
  return parseMountInfo(mountinfo)
    .map((mount) => mount.path)
    .filter((point) => point === path || point.startsWith(prefix));
}
