import { readTextIfPresent } from "../../../base/files/file.ts";

/** Mount points at or below a path, according to the kernel; empty when the kernel provides no list. */
export function mountsAt(
  path: string,
  mountinfo = readTextIfPresent("/proc/self/mountinfo") ?? "",
): string[] {
  const prefix = path === "/" ? "/" : `${path}/`;
  return mountinfo
    .split("\n")
    .map((line) => unescaped(line.split(" ")[4] ?? ""))
    .filter((point) => point === path || (point !== "" && point.startsWith(prefix)));
}

/** proc(5) escapes white space as a backslash and three octal digits. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
