import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { SourceFile } from "./files.ts";

// A snapshot is described by blobs: the root names the pages, a page names files, a file names the blobs
// of its bytes. One changed file changes its own blob, one page and the root, and nothing else travels.

/** Maximum size of a blob in bytes; fits into one bus message with room to spare. */
export const maxBlobBytes = 512 * 1024;
/** Maximum number of files in an environment. */
export const maxFiles = 100_000;
/** Maximum size of a file in bytes. */
export const maxFileBytes = 64 * 1024 * 1024;
const maxPathBytes = 1024;
const maxSegmentBytes = 255;
/** Directories of version control tools; they contain no state files. */
export const skippedNames: ReadonlySet<string> = new Set([".git", ".svn", ".hg"]);
const maxPageFiles = 1024;
const maxPageBytes = maxBlobBytes / 2;
/** Average number of files in a page. */
const usualPageFiles = 128;
const version = 1;

/** A file of a snapshot. */
export interface ManifestFile extends SourceFile {
  path: string;
  /** Digests of the blobs of the content, when it does not fit into one. */
  blobs?: readonly string[];
}

/** The sources of the files of a snapshot. */
export interface SnapshotOrigin {
  /** Whether `states_dir` is one of them. */
  directory: boolean;
  /** Commits read from Git, in order of precedence of their repositories. */
  commits: readonly { remote: string; ref: string; commit: string }[];
}

/** An immutable snapshot of an environment. */
export interface Manifest {
  environment: string;
  origin: SnapshotOrigin;
  /** Sorted by path. */
  files: readonly ManifestFile[];
}

/** The root blob, which identifies a snapshot. */
export interface ManifestRoot {
  environment: string;
  origin: SnapshotOrigin;
  /** Digests of the pages, in order of the paths they list. */
  pages: readonly string[];
}

export interface EncodedManifest {
  /** Digest of the root; it identifies the whole snapshot. */
  digest: string;
  root: ManifestRoot;
  /** Root and pages, by digest. */
  blobs: ReadonlyMap<string, Uint8Array>;
  /** The files of each page. */
  pages: ReadonlyMap<string, readonly ManifestFile[]>;
}

/** The blobs that hold the bytes of a file, in order. An empty file has one as well. */
export function blobsOf(file: ManifestFile): readonly string[] {
  return file.blobs ?? [file.digest];
}

/** Encodes a snapshot. Deterministic: the same files give the same blobs. */
export function encodeManifest({ environment, origin, files }: Manifest): EncodedManifest {
  const blobs = new Map<string, Uint8Array>();
  const pages = new Map<string, readonly ManifestFile[]>();
  const add = (value: unknown) => {
    const data = encode(value);
    const digest = sha256Hex(data);
    blobs.set(digest, data);
    return digest;
  };
  const order: string[] = [];
  for (const page of pagesOf(files)) {
    const digest = add({ v: version, files: page.map(fileRow) });
    pages.set(digest, page);
    order.push(digest);
  }
  const root = { environment, origin, pages: order };
  const digest = add({
    v: version,
    environment,
    directory: origin.directory,
    commits: origin.commits.map(({ remote, ref, commit }) => [remote, ref, commit]),
    pages: order.map(fromHex),
  });
  return { digest, root, blobs, pages };
}

/**
 * Cuts sorted files into pages. The paths themselves decide where a page ends, so that adding or removing a
 * file changes its own page and not all pages after it.
 */
function pagesOf(files: readonly ManifestFile[]): ManifestFile[][] {
  const pages: ManifestFile[][] = [];
  let page: ManifestFile[] = [];
  let bytes = 0;
  for (const file of files) {
    const size = file.path.length * 3 + 64 + (file.blobs?.length ?? 0) * 34;
    if (page.length >= maxPageFiles || (page.length > 0 && bytes + size > maxPageBytes)) {
      pages.push(page);
      page = [];
      bytes = 0;
    }
    page.push(file);
    bytes += size;
    if (Bun.hash.crc32(file.path) % usualPageFiles === 0) {
      pages.push(page);
      page = [];
      bytes = 0;
    }
  }
  if (page.length > 0) pages.push(page);
  return pages;
}

function fileRow({ path, digest, size, executable, blobs }: ManifestFile): unknown[] {
  const row: unknown[] = [path, fromHex(digest), size, executable];
  return blobs === undefined ? row : [...row, blobs.map(fromHex)];
}

/** Reads the root of a snapshot. @throws SvcError `bad_request` */
export function decodeRoot(data: Uint8Array): ManifestRoot {
  const { environment, directory, commits, pages } = mapOf(data);
  return {
    environment: textOf(environment),
    origin: {
      directory: directory === true,
      commits: listOf(commits).map((row) => {
        const [remote, ref, commit] = listOf(row);
        return { remote: textOf(remote), ref: textOf(ref), commit: textOf(commit) };
      }),
    },
    pages: listOf(pages).map(toHex),
  };
}

/** Reads the files of a page, and rejects invalid paths. @throws SvcError `bad_request` */
export function decodePage(data: Uint8Array): ManifestFile[] {
  return listOf(mapOf(data).files).map((row) => {
    const [path, digest, size, executable, blobs] = listOf(row);
    const file = { path: textOf(path), digest: toHex(digest), executable: executable === true };
    const problem = pathProblem(file.path);
    if (problem !== undefined) throw malformed(problem);
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0 || size > maxFileBytes) {
      throw malformed("a file size is not an integer in the allowed range");
    }
    if (blobs === undefined) {
      if (size > maxBlobBytes) throw malformed("a file larger than one blob has no list of blobs");
      return { ...file, size };
    }
    const digests = listOf(blobs).map(toHex);
    if (digests.length !== Math.ceil(size / maxBlobBytes))
      throw malformed("the number of blobs does not match the file size");
    return { ...file, size, blobs: digests };
  });
}

/** Assembles a snapshot. @throws SvcError `bad_request` when its pages are inconsistent */
export function assembleManifest(root: ManifestRoot, pages: readonly (readonly ManifestFile[])[]): Manifest {
  const files = pages.flat();
  if (files.length > maxFiles) throw malformed(`it has more than ${maxFiles} files`);
  for (let at = 1; at < files.length; at++) {
    if ((files[at - 1]?.path ?? "") >= (files[at]?.path ?? "")) throw malformed("its files are not sorted");
  }
  return { environment: root.environment, origin: root.origin, files };
}

/** Why a path is not allowed in a snapshot; `undefined` when it is allowed. */
export function pathProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > maxPathBytes) return "the path is too long";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern rejects control characters
  if (/[\u0000-\u001f\u007f\ufffd]/.test(path) || !path.isWellFormed()) {
    return "the path contains a character that is not allowed";
  }
  for (const segment of path.split("/")) {
    if (segment === "" || segment === "." || segment === "..") return "the path is not a plain relative path";
    if (Buffer.byteLength(segment) > maxSegmentBytes) return "a name in the path is too long";
  }
  return undefined;
}

/** Why a file is left out of a snapshot, whatever its source; `undefined` when it is in it. */
export function fileProblem({ path, size }: Pick<ManifestFile, "path" | "size">): string | undefined {
  if (size > maxFileBytes) return `larger than ${maxFileBytes / 1024 / 1024} MiB`;
  if (path.split("/").some((name) => skippedNames.has(name))) return "a directory of a version control tool";
  return pathProblem(path);
}

function fromHex(digest: string): Uint8Array {
  return Buffer.from(digest, "hex");
}

function toHex(value: Plain | undefined): string {
  if (value instanceof Uint8Array && value.length === 32) return Buffer.from(value).toString("hex");
  throw malformed("a digest is not 32 bytes");
}

function mapOf(data: Uint8Array): Record<string, Plain> {
  const value = decode(data);
  if (!isMap(value)) throw malformed("it is not a map");
  if (value.v !== version) throw malformed("its version is not supported by this program");
  return value;
}

function listOf(value: Plain | undefined): Plain[] {
  if (Array.isArray(value)) return value;
  throw malformed("a field is not a list");
}

function textOf(value: Plain | undefined): string {
  if (typeof value === "string") return value;
  throw malformed("a field is not a string");
}

function malformed(what: string): SvcError {
  return new SvcError("bad_request", `malformed snapshot of state files: ${what}`);
}
