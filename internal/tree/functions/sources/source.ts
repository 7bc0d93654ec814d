import { readFileSync } from "node:fs";
import { quote } from "../../../base/cut.ts";
import { isErrno, reasonOf } from "../../../base/files/file.ts";
import { openForReading } from "../../../base/files/open-for-reading.ts";
import type { FileSource } from "../../files/mod.ts";
import { StateFailure } from "../../function/mod.ts";
import type { Content } from "../file/content.ts";
import { download } from "./download.ts";
import { isHashFile, refuseSourceHash, type SourceHash, verifying } from "./source-hash.ts";

/** Maximum size of a file fetched over HTTPS, which is held in memory, in bytes. */
const maxFetchedBytes = 256 * 1024 * 1024;

/** The source of a file. */
export interface Source {
  /** As written in the state. */
  name: string;
  content: Content;
  /** Whether the file is executable, for the mode `keep`. */
  executable: boolean;
}

/**
 * The problem with the `source` and `source_hash` of a state, if any.
 *
 * @param unverified whether an https:// source needs no `source_hash`
 */
export function refuseSource(
  sources: readonly string[],
  hash: string | undefined,
  unverified = false,
): string | undefined {
  for (const name of sources) {
    if (locationOf(name) === undefined) {
      return `source: expected svc://path, salt://path, an absolute path or https://…, not ${quote(name, 200)}`;
    }
    if (name.startsWith("https://") && hash === undefined && !unverified) {
      return "source_hash: missing; required for an https:// source";
    }
    if (name.startsWith("http://") && (hash === undefined || isHashFile(hash))) {
      return "source_hash: a digest is required for an http:// source";
    }
  }
  return refuseSourceHash(hash);
}

/** The path of `svc://…` in the files of the environment; `undefined` for any other source. */
export function treePath(name: string): string | undefined {
  const [, path] = /^(?:svc|salt):\/\/\/?([^?]*)$/.exec(name) ?? [];
  return path;
}

/**
 * Finds the first source that exists.
 *
 * @throws StateFailure when none does
 */
export function findSource(
  names: readonly string[],
  hash: SourceHash | undefined,
  { files, signal }: { files: FileSource; signal: AbortSignal },
): Source {
  for (const name of names) {
    const content = inspect(name, hash, files, signal);
    if (content !== undefined) return { name, ...content };
  }
  const where = names.some((name) => treePath(name) !== undefined)
    ? ` (environment ${files.environment})`
    : "";
  throw new StateFailure(
    names.length === 1
      ? `source ${names[0]} does not exist${where}`
      : `none of the sources exists: ${names.join(", ")}${where}`,
  );
}

function inspect(
  name: string,
  hash: SourceHash | undefined,
  files: FileSource,
  signal: AbortSignal,
): Omit<Source, "name"> | undefined {
  const path = treePath(name);
  if (path !== undefined) {
    const found = files.stat(path);
    if (found === undefined) return undefined;
    // A file that does not exist yet is compared with nothing, and nobody reads the digest.
    const digest = hash ?? {
      algorithm: "sha256",
      get value() {
        return found.digest;
      },
    };
    const bytes = async () => verified(name, await files.read(path), hash);
    return { executable: found.executable, content: { size: found.size, digest, bytes } };
  }
  const local = localPath(name);
  if (local !== undefined) return inspectHost(local, hash);
  if (hash !== undefined) {
    const bytes = () => fetchWhole(name, hash, signal);
    return { executable: false, content: { size: undefined, digest: hash, bytes } };
  }
  // Without a digest, only the content tells whether a file differs.
  let fetched: Promise<Uint8Array> | undefined;
  const bytes = () => {
    fetched ??= fetchWhole(name, undefined, signal);
    return fetched;
  };
  return { executable: false, content: { size: undefined, bytes } };
}

function inspectHost(path: string, hash: SourceHash | undefined): Omit<Source, "name"> | undefined {
  try {
    using found = openForReading(path);
    const { size, mode } = found.stats;
    const bytes = () => verified(path, readWhole(path), hash);
    return { executable: (mode & 0o111) !== 0, content: { size, bytes } };
  } catch (cause) {
    if (isErrno(cause, "ENOENT") || isErrno(cause, "ENOTDIR")) return undefined;
    throw unreadable(path, cause);
  }
}

function readWhole(path: string): Buffer {
  try {
    using found = openForReading(path);
    return readFileSync(found.file);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): StateFailure {
  return new StateFailure(`cannot read the source ${path}: ${reasonOf(cause)}`, {}, { cause });
}

async function fetchWhole(
  url: string,
  hash: SourceHash | undefined,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  await download(url, hash, { signal, maxBytes: maxFetchedBytes }, (piece) => pieces.push(piece));
  return Buffer.concat(pieces);
}

function verified(name: string, bytes: Uint8Array, hash: SourceHash | undefined): Uint8Array {
  if (hash === undefined) return bytes;
  const { hash: running, end } = verifying(hash, name);
  running.update(bytes);
  end();
  return bytes;
}

/** A path on this host, also as `file://…`. */
export function localPath(name: string): string | undefined {
  const path = name.startsWith("file://") ? name.slice("file://".length) : name;
  return path.startsWith("/") && !path.includes("\0") ? path : undefined;
}

function locationOf(name: string): string | undefined {
  const path = treePath(name);
  if (path !== undefined) return path === "" ? undefined : path;
  if (/^https?:\/\//.test(name) && URL.canParse(name)) return name;
  return localPath(name);
}
