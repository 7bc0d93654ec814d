import { closeSync, readdirSync, readSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { attempt, describeError } from "../../../base/errors.ts";
import { shownText } from "../../../base/files/byte-text.ts";
import { openForReading, type ReadableFile } from "../../../base/files/open-for-reading.ts";
import { type OpenedDirectory, openDirectory, openParent } from "../../../base/files/opened-directory.ts";
import { createPrivateDirectory } from "../../../base/files/private-directory.ts";
import { createEntry, writeWhole } from "../../../base/files/replace-entry.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import {
  type Attributes,
  attributesDiffer,
  attributesOf,
  missingNote,
  ownerArgs,
  requireOwner,
  setLinkOwner,
} from "../file/attributes.ts";
import { kindOf, statIfPresent, touching } from "../file/inspect.ts";
import { makeDirectoryIn } from "../file/parents.ts";
import { pathOf } from "../file/path.ts";
import { walk } from "../file/walk.ts";
import { download } from "../sources/download.ts";
import { findHash } from "../sources/find-hash.ts";
import { findSource, localPath, refuseSource, type Source } from "../sources/source.ts";
import { type SourceHash, sourceHashArgs, verifying, warnOfHash } from "../sources/source-hash.ts";
import { type ArchiveFormat, formatNames, formatOf } from "./archive-format.ts";
import { type ArchiveLimits, checkLimits, limitsOf, withinLimits } from "./archive-limits.ts";
import { extractArchive, listArchive, type Member } from "./archive-program.ts";

const maxNamed = 20;
const chunkBytes = 1024 * 1024;

const archiveExtracted = defineState({
  name: "archive.extracted",
  doc: "Ensures that the files of an archive exist in a directory. Existing files are not compared with the archive. If one file is missing, all files are extracted.",
  args: {
    source: arg.strings(
      "The archive: svc://path, salt://path, an absolute path on this host, or https://…. In a list, the first source that exists is used.",
      { required: true },
    ),
    ...sourceHashArgs,
    archive_format: arg.string("Format of the archive, if its name does not tell.", { values: formatNames }),
    max_bytes: arg.any(
      "Extracts nothing if the files have more than this in all: bytes, or with KiB, MiB or GiB; 2GiB by default.",
    ),
    max_files: arg.integer(
      "Extracts nothing if the archive has more files and directories; 100,000 by default.",
      { min: 1 },
    ),
    if_missing: arg.path("Extracts nothing if this path exists; the archive is not inspected."),
    ...ownerArgs,
    enforce_toplevel: arg.boolean(
      "Fails if the archive has more than one top-level file or directory; true by default.",
    ),
    options: arg.string("Only --strip-components=N is supported, which removes N leading directories."),
    overwrite: arg.boolean(
      "Extracts the archive each time, also if all its files are there; for archives whose files change, but not their names. False by default.",
    ),
    trim_output: arg.any("Accepted and ignored: a result never lists all files."),
  },
  refuse({ source, source_hash, skip_verify, options, max_bytes }) {
    try {
      limitsOf(max_bytes, undefined);
    } catch (thrown) {
      return `max_bytes: ${describeError(thrown)}`;
    }
    if (options !== undefined && stripped(options) === undefined) {
      return "options: only --strip-components=N is supported";
    }
    return refuseSource(source, source_hash, skip_verify);
  },
  warn: warnOfHash,
  async plan(name, args, context) {
    const target = pathOf(name);
    if (args.if_missing !== undefined && statIfPresent(args.if_missing) !== undefined) {
      return { changes: {}, comment: `${args.if_missing} exists` };
    }
    const named = findSource(args.source, undefined, context);
    const isRemote = /^https?:/.test(named.name);
    const before = statIfPresent(target);
    // All files are missing from a directory that has none, so an archive on a server is not fetched to see which.
    const isKnown = isRemote && (before === undefined || isEmpty(target));
    const verified = async () => {
      const hash = await findHash(args, args.source, context);
      return { hash, source: findSource([named.name], hash, context) };
    };
    // Nor is its digest: a test run then says what it would do where an earlier state gives the host its network.
    const isLater = isKnown && /^https?:/.test(args.source_hash ?? "");
    const { hash, source } = isLater ? { hash: undefined, source: named } : await verified();
    const format = (args.archive_format ?? formatOf(source.name)) as ArchiveFormat | undefined;
    if (format === undefined) {
      throw new StateFailure(`archive_format: missing; the name of ${source.name} does not tell the format`);
    }
    if (before !== undefined && !before.isDirectory()) {
      throw new StateFailure(`${target} is a ${kindOf(target, before)}`);
    }
    const wish: Wish = {
      target,
      source,
      hash,
      format,
      strip: stripped(args.options ?? "") ?? 0,
      single: args.enforce_toplevel !== false,
      limits: limitsOf(args.max_bytes, args.max_files),
      attributes: await attributesOf({ user: args.user, group: args.group }, context),
    };
    const isCompared = args.if_missing === undefined && !isKnown && args.overwrite !== true;
    const plan = await planExtraction(wish, isCompared, context);
    if (!isLater) return plan;
    const apply = async () => {
      const checked = await planExtraction({ ...wish, ...(await verified()) }, false, context);
      return checked.apply?.();
    };
    return { ...plan, apply };
  },
});

/** Whether a directory has no entries; one that was replaced since it was looked at is compared like any other. */
function isEmpty(directory: string): boolean {
  return attempt(() => readdirSync(directory).length === 0, false);
}

/** States of archives. */
export const archiveStates: readonly StateFunction[] = [archiveExtracted];

interface Wish {
  target: string;
  source: Source;
  hash: SourceHash | undefined;
  format: ArchiveFormat;
  /** Number of leading directories to remove. */
  strip: number;
  /** Whether only one top-level file or directory is allowed. */
  single: boolean;
  limits: ArchiveLimits;
  attributes: Attributes;
}

async function planExtraction(wish: Wish, compare: boolean, context: StateContext): Promise<Plan> {
  const { target, source, attributes } = wish;
  const change: { [name: string]: Plain } = { extracted: source.name };
  if (compare) {
    const missing = await withArchive(wish, context, async (file) =>
      missingFrom(wish, await membersOf(wish, file, context)),
    );
    if (missing.length === 0)
      return { changes: {}, comment: `${source.name} is already extracted to ${target}` };
    change.missing = missing.slice(0, maxNamed).map(shownText);
    if (missing.length > maxNamed) change.missing_in_all = missing.length;
  }
  return {
    changes: { [target]: change },
    comment: `${source.name} would be extracted to ${target}${missingNote(attributes)}`,
    apply: async () => {
      requireOwner(attributes);
      await withArchive(wish, context, async (file) => {
        await membersOf(wish, file, context);
        await extract(wish, file, context);
      });
      return { comment: `${source.name} was extracted to ${target}` };
    },
  };
}

/** The members with their paths in the target. */
async function membersOf(wish: Wish, file: string, context: StateContext): Promise<Member[]> {
  const members = await listArchive(file, wish.format, context);
  checkLimits(wish.limits, { files: members.length, bytes: 0 });
  const tops = new Set(members.map(({ path }) => path.split("/")[0]));
  if (wish.single && wish.strip === 0 && tops.size > 1) {
    throw new StateFailure(
      `${wish.source.name} has ${tops.size} top-level files and directories; set enforce_toplevel: false to extract it`,
    );
  }
  return members.flatMap(({ path, directory }) => {
    const left = path.split("/").slice(wish.strip).join("/");
    return left === "" ? [] : [{ path: left, directory }];
  });
}

function missingFrom({ target, attributes }: Wish, members: readonly Member[]): string[] {
  return members
    .filter(({ path, directory }) => {
      const stats = statIfPresent(`${target}/${path}`);
      if (stats === undefined || stats.isDirectory() !== directory) return true;
      return attributesDiffer(stats, attributes);
    })
    .map(({ path }) => path);
}

/**
 * Provides the archive as a file while `use` runs. What was verified is what is used: another user can change
 * neither the file nor its path.
 */
async function withArchive<Value>(
  { source, hash }: Wish,
  { signal }: StateContext,
  use: (file: string) => Promise<Value>,
): Promise<Value> {
  const local = localPath(source.name);
  if (local !== undefined) {
    using found = touching("read", local, () => openForReading(local));
    if (found.isFixed) {
      if (hash !== undefined) copyVerified(found, source.name, hash, signal, () => {});
      return await use(found.path);
    }
    return await withPrivateFile((write) => copyVerified(found, source.name, hash, signal, write), use);
  }
  return withPrivateFile(async (write) => {
    if (/^https?:/.test(source.name)) {
      await download(source.name, hash, { signal }, write);
    } else write(await source.content.bytes());
  }, use);
}

async function withPrivateFile<Value>(
  fill: (write: (piece: Uint8Array) => void) => Promise<void> | void,
  use: (file: string) => Promise<Value>,
): Promise<Value> {
  using parent = openDirectory(tmpdir());
  using own = createPrivateDirectory(parent, "svc-archive");
  const file = createEntry(own.directory, "archive");
  try {
    await fill((piece) => writeWhole(file, piece));
  } finally {
    closeSync(file);
  }
  return await use(own.directory.forChild("archive"));
}

/** @throws StateFailure when the content does not match the digest */
function copyVerified(
  { file }: ReadableFile,
  name: string,
  pinned: SourceHash | undefined,
  signal: AbortSignal,
  write: (piece: Uint8Array) => void,
): void {
  const verification = pinned && verifying(pinned, name);
  const buffer = Buffer.alloc(chunkBytes);
  for (let length = -1; length !== 0; ) {
    signal.throwIfAborted();
    length = readSync(file, buffer, 0, chunkBytes, null);
    const piece = buffer.subarray(0, length);
    verification?.hash.update(piece);
    write(piece);
  }
  verification?.end();
}

/**
 * First extracts into a new directory, so that no link in the target or the archive can redirect a file
 * outside, and then moves each file into place.
 */
async function extract(wish: Wish, file: string, context: StateContext): Promise<void> {
  const { target, attributes } = wish;
  const made: string[] = [];
  using into = touching("open", target, () =>
    openDirectory(target, (parent, name) => {
      makeDirectoryIn(parent, name, attributes);
      made.push(join(parent.path, name));
    }),
  );
  try {
    await extractInto(into, wish, file, context);
  } catch (thrown) {
    for (const path of made.reverse()) removeIfEmpty(path);
    throw thrown;
  }
}

/** Removes a directory that was made for an archive that is not extracted. Whatever keeps it, the reason comes first. */
function removeIfEmpty(path: string): void {
  attempt(() => {
    using parent = openParent(path);
    parent.removeEmpty(basename(path));
  });
}

async function extractInto(
  into: OpenedDirectory,
  wish: Wish,
  file: string,
  context: StateContext,
): Promise<void> {
  const { target, format, limits } = wish;
  using staging = touching("create a directory in", target, () => createPrivateDirectory(into, "extracting"));
  await withinLimits(limits, staging.directory, context, (stoppable) =>
    extractArchive(file, format, staging.directory.forChild(""), stoppable),
  );
  checkStaged(staging.directory, limits);
  moveIn(staging.directory, into, wish);
}

/** @throws StateFailure for devices, for hard links to files outside the archive, and beyond the limits */
function checkStaged(staging: OpenedDirectory, limits: ArchiveLimits): void {
  const links = new Map<number, { expected: number; found: number; path: string }>();
  const size = { files: 0, bytes: 0 };
  for (const { stats, at, relative } of walk(staging, undefined)) {
    size.files++;
    if (stats.isFile()) {
      size.bytes += stats.size;
      const link = links.get(stats.ino) ?? { expected: stats.nlink, found: 0, path: relative };
      link.found++;
      links.set(stats.ino, link);
    } else if (!stats.isDirectory() && !stats.isSymbolicLink()) {
      throw new StateFailure(
        `the archive is not extracted: ${shownText(relative)} is a ${kindOf(at, stats)}`,
      );
    }
    checkLimits(limits, size);
  }
  const outside = [...links.values()].find(({ expected, found }) => found !== expected);
  if (outside !== undefined) {
    throw new StateFailure(
      `the archive is not extracted: ${shownText(outside.path)} is a link to a file elsewhere`,
    );
  }
}

/** Moves each entry into an open directory, next to what exists there. */
function moveIn(staging: OpenedDirectory, into: OpenedDirectory, { target, strip, attributes }: Wish): void {
  // The directories above the current entry, from the target down.
  const open = [{ at: "", directory: into }];
  const closeLast = () => open.pop()?.directory[Symbol.dispose]();
  try {
    for (const { stats, directory: from, name, relative } of walk(staging, undefined)) {
      const left = relative.split("/").slice(strip);
      const [own] = left.slice(-1);
      if (own === undefined) continue;
      const above = left.slice(0, -1).join("/");
      while (open.length > 1 && open.at(-1)?.at !== above) closeLast();
      const parent = open.at(-1)?.directory ?? into;
      const to = [target, ...left].join("/");
      const there = parent.stats(own);
      if (stats.isDirectory()) {
        if (there === undefined) makeDirectoryIn(parent, own, { ...attributes, mode: stats.mode & 0o1777 });
        else if (!there.isDirectory()) {
          throw new StateFailure(
            `${shownText(to)} is a ${kindOf(`${parent.reach}/${own}`, there)}, not a directory`,
          );
        } else setLinkOwner(parent, own, attributes);
        open.push({ at: left.join("/"), directory: touching("open", to, () => parent.enter(own)) });
        continue;
      }
      if (there?.isDirectory() === true)
        throw new StateFailure(`${shownText(to)} is a directory, not a file`);
      setLinkOwner(from, name, attributes);
      touching("write", to, () => from.move(name, parent, own));
    }
  } finally {
    while (open.length > 1) closeLast();
  }
}

function stripped(options: string): number | undefined {
  const [, count] = /^--strip(?:-components)?[= ](\d{1,3})$/.exec(options.trim()) ?? [];
  return count === undefined ? undefined : Number(count);
}
