import { createHmac } from "node:crypto";
import { createReadStream, type Stats, statSync } from "node:fs";
import { isErrno } from "../../base/files/file.ts";
import { walkDirectory } from "../../tree/files/mod.ts";

/** Where the files of a kind are on this host. */
export type Place =
  | { readonly path: string; readonly is: "file" }
  | {
      readonly path: string;
      readonly is: "directory";
      /** Whether masters follow its links, and leave out names that an editor gives. */
      readonly asSettings: boolean;
    };

/** The digest of each file, with what changes when it may have changed. */
type Known = Map<string, { stamp: string; hex: string }>;

/** How many files are looked at before others get their turn. */
const atOnce = 100;

/** The digests of files that did not change since. They tell nothing without the key. */
export interface Digests {
  /**
   * @returns HMAC-SHA256 of the file, or of the lines `path NUL hex LF` of a directory; `undefined` when it is missing
   * @throws Error when something of it cannot be read
   */
  digest(place: Place): Promise<Uint8Array | undefined>;
}

/** @param key from `settings.seed` */
export function createDigests(key: Uint8Array): Digests {
  /** By the path of a place. */
  const known = new Map<string, Known>();
  const fileDigest = async (path: string, stat: Stats, before: Known, into: Known): Promise<string> => {
    const stamp = `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}`;
    const found = before.get(path);
    const hex = found?.stamp === stamp ? found.hex : await hmacOfFile(key, path);
    into.set(path, { stamp, hex });
    return hex;
  };
  const directoryDigest = async (path: string, asSettings: boolean, before: Known, into: Known) => {
    const lines: [path: string, hex: string][] = [];
    for (const entry of walkDirectory(path, [], { followsLinks: asSettings })) {
      if (asSettings && isOfEditor(entry.path)) continue;
      const stat = statOf(entry.real);
      // It was removed meanwhile.
      if (stat !== undefined) lines.push([entry.path, await fileDigest(entry.real, stat, before, into)]);
      if (lines.length % atOnce === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return digestOfLines(key, lines);
  };
  return {
    async digest(place) {
      const { path } = place;
      const [before, seen]: [Known, Known] = [known.get(path) ?? new Map(), new Map()];
      known.set(path, seen);
      const stat = statOf(path);
      if (stat === undefined || stat.isDirectory() !== (place.is === "directory")) return undefined;
      return place.is === "file"
        ? Buffer.from(await fileDigest(path, stat, before, seen), "hex")
        : directoryDigest(path, place.asSettings, before, seen);
    },
  };
}

/** HMAC-SHA256 of the lines `path NUL hex LF`, sorted by bytes. */
export function digestOfLines(key: Uint8Array, files: readonly (readonly [string, string])[]): Uint8Array {
  const lines = files.map(([path, hex]) => Buffer.from(`${path}\0${hex}\n`));
  const hmac = createHmac("sha256", key);
  for (const line of lines.sort(Buffer.compare)) hmac.update(line);
  return hmac.digest();
}

async function hmacOfFile(key: Uint8Array, path: string): Promise<string> {
  const hmac = createHmac("sha256", key);
  for await (const piece of createReadStream(path)) hmac.update(piece as Buffer);
  return hmac.digest("hex");
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT") || isErrno(thrown, "ENOTDIR")) return undefined;
    throw thrown;
  }
}

const isOfEditor = (path: string): boolean =>
  path.split("/").some((name) => name.startsWith(".") || name.endsWith("~"));
