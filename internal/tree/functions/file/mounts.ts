import { readTextIfPresent } from "../../../base/file.ts";

/** Where file systems are mounted at or below a path, by what the kernel says; none where it says nothing. */
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

/** proc(5): spaces and the like are three octal digits after a backslash. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
