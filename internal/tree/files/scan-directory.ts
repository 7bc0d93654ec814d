import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { isErrno } from "../../base/files/file.ts";
import { type Content, type Contents, startHashing } from "./contents.ts";
import { type ManifestFile, maxBlobBytes, maxFileBytes, maxFiles } from "./manifest.ts";
import { unreadable, walkDirectory } from "./walk-directory.ts";

/** The scan yields to other work this often. */
const turnMs = 10;
/** A file that changed this recently before it was read may change again without a new timestamp. */
const settledMs = 2_000;
/** As in Git: other bits are not the same on every file system. */
export const ownerExecutes = 0o100;
/** A directory that is scanned repeatedly. */
export interface DirectoryScan {
  /**
   * Checks every file; reads only files whose size, timestamps or location changed.
   *
   * @returns the files; the same map as before when nothing changed. Empty for a missing directory.
   * @throws SvcError `storage` when a file or directory cannot be read, `too_large` when there are too many
   */
  scan(): Promise<{ files: Contents; warnings: readonly string[] }>;
}

interface Seen {
  stamp: string;
  real: string;
  content: Content;
}

/**
 * @param root a directory, or a link to one; links below it are left out
 */
export function createDirectoryScan(root: string, clock: Clock): DirectoryScan {
  let seen = new Map<string, Seen>();
  let contents: Contents = new Map();
  return {
    async scan() {
      const next = new Map<string, Seen>();
      const warnings: string[] = [];
      let turnEnds = clock.monotonic() + turnMs;
      const breathe = async () => {
        if (clock.monotonic() < turnEnds) return;
        await setImmediate();
        turnEnds = clock.monotonic() + turnMs;
      };
      for (const { path, real } of walkDirectory(root, warnings)) {
        await breathe();
        const stat = statOrGone(real);
        if (stat === undefined) continue;
        if (stat.size > maxFileBytes) {
          warnings.push(`${path}: larger than ${maxFileBytes / 1024 / 1024} MiB; not published`);
          continue;
        }
        if (next.size >= maxFiles) {
          throw new SvcError("too_large", `${root} has more than ${maxFiles} files`);
        }
        const stamp = [stat.dev, stat.ino, stat.size, stat.mode, stat.mtimeMs, stat.ctimeMs].join(":");
        const before = seen.get(path);
        if (before?.stamp === stamp) {
          next.set(path, before);
          continue;
        }
        const hashed = await hashFile(real, breathe);
        if (hashed === undefined) continue;
        const content: Content = {
          ...hashed,
          executable: (stat.mode & ownerExecutes) !== 0,
          pieces: () => piecesOf(real),
        };
        const settled = clock.now() - stat.ctimeMs > settledMs;
        next.set(path, { stamp: settled ? stamp : "", real, content: reuseSame(before, { real, content }) });
      }
      const same =
        next.size === seen.size &&
        [...next].every(([path, { content }]) => seen.get(path)?.content === content);
      seen = next;
      if (!same) contents = new Map([...next].map(([path, { content }]) => [path, content]));
      return { files: contents, warnings };
    },
  };
}

/** Returns the previous content object when it is equal, so that results derived from it stay valid. */
function reuseSame(before: Seen | undefined, { real, content }: Omit<Seen, "stamp">): Content {
  if (before === undefined || before.real !== real) return content;
  const same = before.content.digest === content.digest && before.content.executable === content.executable;
  return same ? before.content : content;
}

function statOrGone(path: string) {
  return statSync(path, { throwIfNoEntry: false });
}

/** @returns `undefined` when the file no longer exists. @throws SvcError `storage` */
async function hashFile(
  path: string,
  breathe: () => Promise<void>,
): Promise<Pick<ManifestFile, "digest" | "size" | "blobs"> | undefined> {
  const hashing = startHashing();
  try {
    for await (const piece of piecesOf(path)) {
      hashing.add(piece);
      await breathe();
    }
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return undefined;
    throw unreadable(path, thrown);
  }
  return hashing.result();
}

async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = openSync(path, "r");
  try {
    for (let first = true; ; first = false) {
      const piece = readPiece(file);
      if (piece.length > 0 || first) yield piece;
      if (piece.length < maxBlobBytes) return;
    }
  } finally {
    closeSync(file);
  }
}

/** Reads until the piece is full or the file ends. */
function readPiece(file: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let length = 0;
  while (length < maxBlobBytes) {
    const part = Buffer.allocUnsafe(Math.min(64 * 1024, maxBlobBytes - length));
    const count = readSync(file, part);
    if (count === 0) break;
    parts.push(part.subarray(0, count));
    length += count;
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}
