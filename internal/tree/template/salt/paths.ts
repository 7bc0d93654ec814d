import { posix } from "node:path";
import { textOf } from "../../jinja/mod.ts";
import type { Value } from "../../jinja/values/mod.ts";
import { looseFunction, type SaltFunction, saltFunction } from "./function.ts";

/** Functions that take paths apart and put them together; none looks at the host. */
export const pathFunctions: readonly SaltFunction[] = [
  saltFunction("file.basename", ["path"], "Returns what is after the last slash of a path.", ([path]) =>
    textOf(path as Value).replace(/^.*\//s, ""),
  ),
  saltFunction("file.dirname", ["path"], "Returns what is before the last slash of a path.", ([path]) =>
    directoryOf(textOf(path as Value)),
  ),
  looseFunction("file.join", ["parts…"], "Joins parts of a path.", ({ positional }) =>
    joinPaths(positional.map(textOf)),
  ),
  saltFunction("file.normpath", ["path"], "Returns a path without . and .. in it.", ([path]) =>
    posix.normalize(textOf(path as Value)).replace(/(?<=.)\/$/, ""),
  ),
];

function directoryOf(path: string): string {
  const head = path.slice(0, path.lastIndexOf("/") + 1);
  return /^\/+$/.test(head) ? head : head.replace(/\/+$/, "");
}

/** As Python joins paths: a part that begins with a slash starts again. */
export function joinPaths(parts: readonly string[]): string {
  return parts.reduce((path, part) => {
    if (part.startsWith("/") || path === "") return part;
    return path.endsWith("/") ? path + part : `${path}/${part}`;
  }, "");
}
