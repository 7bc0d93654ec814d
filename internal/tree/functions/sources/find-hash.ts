import { posix } from "node:path";
import type { FileSource } from "../../files/mod.ts";
import { StateFailure } from "../../function/mod.ts";
import { fetchBytes } from "./download.ts";
import { treePath } from "./source.ts";
import { parseSourceHash, type SourceHash } from "./source-hash.ts";

/** Maximum size of a file with digests, in bytes. */
const maxListBytes = 4 * 1024 * 1024;

interface Wish {
  source_hash: string | undefined;
  source_hash_name?: string | undefined;
}

/**
 * The expected digest of a source, which may be in a file of its own.
 *
 * @param sources the sources of the state; the name of one of them is looked up in a file with digests
 * @returns `undefined` without a `source_hash`
 * @throws StateFailure when the file cannot be read, or has no digest of the source
 */
export async function findHash(
  { source_hash: text, source_hash_name: named }: Wish,
  sources: readonly string[],
  context: { files: FileSource; signal: AbortSignal },
): Promise<SourceHash | undefined> {
  if (text === undefined) return undefined;
  const direct = parseSourceHash(text);
  if (direct !== undefined) return direct;
  const list = await listOf(text, context);
  const names = named === undefined ? sources.map(nameOf) : [named];
  const found = digestIn(list, names);
  if (found === undefined) throw new StateFailure(`${text} has no digest of ${names.join(" or ")}`);
  return found;
}

async function listOf(
  name: string,
  { files, signal }: { files: FileSource; signal: AbortSignal },
): Promise<string> {
  const path = treePath(name);
  if (path === undefined)
    return Buffer.from(await fetchBytes(name, { signal, maxBytes: maxListBytes })).toString();
  if (files.stat(path) === undefined) throw new StateFailure(`source_hash: ${name} does not exist`);
  return Buffer.from(await files.read(path)).toString();
}

function nameOf(source: string): string {
  return posix.basename(URL.canParse(source) ? new URL(source).pathname : source);
}

/**
 * Finds the digest of a file: `DIGEST  name` as sha256sum writes it, `SHA256 (name) = DIGEST`, or a digest alone.
 * Of several digests of a file, the longest is taken.
 */
export function digestIn(text: string, names: readonly string[]): SourceHash | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const read = lines.flatMap((line) => readLine(line) ?? []);
  const fits = (name: string) => names.some((each) => name === each || name.endsWith(`/${each}`));
  const [only, ...more] = read;
  if (only !== undefined && more.length === 0 && only.name === undefined) return only.hash;
  return read
    .filter(({ name }) => name !== undefined && fits(name))
    .map(({ hash }) => hash)
    .reduce<SourceHash | undefined>(
      (best, each) => (best && best.value.length >= each.value.length ? best : each),
      undefined,
    );
}

function readLine(line: string): { hash: SourceHash; name?: string } | undefined {
  const [, algorithm, inside, digest = ""] = /^(\w+) ?\((.+)\) ?= ?([0-9a-fA-F]+)$/.exec(line.trim()) ?? [];
  if (algorithm !== undefined && inside !== undefined) {
    const hash = parseSourceHash(`${algorithm}=${digest}`);
    return hash && { hash, name: inside };
  }
  const [first = "", ...rest] = line.trim().split(/\s+/);
  const hash = parseSourceHash(first);
  if (hash !== undefined)
    return rest.length === 0 ? { hash } : { hash, name: rest.join(" ").replace(/^\*/, "") };
  // Some lists have the name first.
  const last = parseSourceHash(rest.at(-1) ?? "");
  return last && { hash: last, name: first };
}
