import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { SourceFile } from "./files.ts";

export { sha256Hex as digestOf } from "../../base/sha256.ts";

// A snapshot is described by blobs: the root names the pages, a page names files, a file names the blobs
// of its bytes. One changed file changes its own blob, one page and the root, and nothing else travels.

/** Bytes of a blob at most: what one message of the bus carries with room to spare. */
export const maxBlobBytes = 512 * 1024;
/** Files of an environment at most. */
export const maxFiles = 100_000;
/** Bytes of one file at most. */
export const maxFileBytes = 256 * 1024 * 1024;
const maxPathBytes = 1024;
const maxSegmentBytes = 255;
const maxPageFiles = 1024;
const maxPageBytes = maxBlobBytes / 2;
/** A page ends, on average, after this many files. */
const usualPageFiles = 128;
const version = 1;

/** A file of a snapshot. */
export interface ManifestFile extends SourceFile {
  path: string;
  /** Digests of the blobs that its bytes are cut into, when it is longer than one. */
  blobs?: readonly string[];
}

/** Where the files of a snapshot come from. */
export interface SnapshotOrigin {
  /** Whether `states_dir` is among them. */
  directory: boolean;
  /** What was read from Git, in the order in which repositories take precedence. */
  commits: readonly { remote: string; ref: string; commit: string }[];
}

/** An immutable snapshot of an environment. */
export interface Manifest {
  environment: string;
  origin: SnapshotOrigin;
  /** Sorted by path. */
  files: readonly ManifestFile[];
}

/** The blob a snapshot is known by. */
export interface ManifestRoot {
  environment: string;
  origin: SnapshotOrigin;
  /** Digests of the pages, in the order of the paths in them. */
  pages: readonly string[];
}

export interface EncodedManifest {
  /** Of the root; it stands for the whole snapshot. */
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

/** Encodes a snapshot; the same files always give the same blobs. */
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
 * Cuts sorted files into pages. Where a page ends is up to the paths themselves, so that a file that comes
 * or goes changes the page it is in and not all that follow.
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

/** Reads the files of a page, and refuses every path that is not one. @throws SvcError `bad_request` */
export function decodePage(data: Uint8Array): ManifestFile[] {
  return listOf(mapOf(data).files).map((row) => {
    const [path, digest, size, executable, blobs] = listOf(row);
    const file = { path: textOf(path), digest: toHex(digest), executable: executable === true };
    const problem = pathProblem(file.path);
    if (problem !== undefined) throw malformed(problem);
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0 || size > maxFileBytes) {
      throw malformed("a size is none");
    }
    if (blobs === undefined) {
      if (size > maxBlobBytes) throw malformed("a long file has no blobs");
      return { ...file, size };
    }
    const digests = listOf(blobs).map(toHex);
    if (digests.length !== Math.ceil(size / maxBlobBytes)) throw malformed("a file has too few blobs");
    return { ...file, size, blobs: digests };
  });
}

/** Puts a snapshot together. @throws SvcError `bad_request` when its pages do not fit */
export function assembleManifest(root: ManifestRoot, pages: readonly (readonly ManifestFile[])[]): Manifest {
  const files = pages.flat();
  if (files.length > maxFiles) throw malformed(`it has more than ${maxFiles} files`);
  for (let at = 1; at < files.length; at++) {
    if ((files[at - 1]?.path ?? "") >= (files[at]?.path ?? "")) throw malformed("its files are not sorted");
  }
  return { environment: root.environment, origin: root.origin, files };
}

/** Why a path cannot be one of a snapshot; `undefined` for one that can. */
export function pathProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > maxPathBytes) return "the path is too long";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f\ufffd]/.test(path) || !path.isWellFormed()) {
    return "the path has a character that is not allowed";
  }
  for (const segment of path.split("/")) {
    if (segment === "" || segment === "." || segment === "..") return "the path is not a plain relative one";
    if (Buffer.byteLength(segment) > maxSegmentBytes) return "a name in the path is too long";
  }
  return undefined;
}

/** Whether a text can be the name of an environment: `base`, or a branch or tag such as `feature/web-2`. */
export function isEnvironmentName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$/.test(name) && pathProblem(name) === undefined;
}

function fromHex(digest: string): Uint8Array {
  return Buffer.from(digest, "hex");
}

function toHex(value: Plain | undefined): string {
  if (value instanceof Uint8Array && value.length === 32) return Buffer.from(value).toString("hex");
  throw malformed("a digest is none");
}

function mapOf(data: Uint8Array): Record<string, Plain> {
  const value = decode(data);
  const isMap = value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isMap || value instanceof Uint8Array) throw malformed("it is no map");
  if (value.v !== version) throw malformed("it has a version that this program does not know");
  return value;
}

function listOf(value: Plain | undefined): Plain[] {
  if (Array.isArray(value)) return value;
  throw malformed("a list is none");
}

function textOf(value: Plain | undefined): string {
  if (typeof value === "string") return value;
  throw malformed("a text is none");
}

function malformed(what: string): SvcError {
  return new SvcError("bad_request", `malformed snapshot of state files: ${what}`);
}
