import { readFileSync } from "node:fs";
import { attempt } from "../../base/errors.ts";

/** How many files this process may have open; `undefined` where the system does not say. */
export function openFilesLimit(path = "/proc/self/limits"): number | undefined {
  const text = attempt(() => readFileSync(path, "utf8"));
  const limit = /^Max open files\s+(\d+)/m.exec(text ?? "")?.[1];
  return limit === undefined ? undefined : Number(limit);
}
