import { isProduction, parse, type Source, type Violation } from "./source.ts";

/** Functions of node:fs that create, change or remove what a path refers to. */
const writing =
  /^(?:appendFile|ch(?:mod|own)|copyFile|cp|createWriteStream|lch(?:mod|own)|link|lutimes|mkdir|mkdtemp|open|rename|rm|rmdir|symlink|truncate|unlink|utimes|writeFile)(?:Sync)?$/;

/** Where states, functions and the file cache write, below directories that other users may change. */
const writers =
  /^internal\/(?:tree\/functions|host\/modules|host\/system)\/|^internal\/tree\/files\/blob-files\.ts$/;

/** Opens files for reading only. */
const readers = new Set(["internal/host/modules/file-read.ts", "internal/host/modules/touch.ts"]);

/** Writers that do not go through an open directory (base/files/opened-directory.ts). */
export function checkWrites(sources: Source[]): Violation[] {
  return sources
    .filter((source) => isProduction(source) && writers.test(source.path))
    .flatMap((source) =>
      parse(source)
        .taken.filter(({ from }) => /^(?:node:)?fs(?:\/promises)?$/.test(from))
        .flatMap(({ names }) => names)
        .filter((name) => !/^[a-z]+(?:Sync)?$/i.test(name) || writing.test(name))
        .filter((name) => !(readers.has(source.path) && /^open(?:Sync)?$/.test(name)))
        .map((name) => ({
          path: source.path,
          problem: `takes ${name} from node:fs; write through base/files/opened-directory.ts, which no other user can redirect`,
        })),
    );
}
