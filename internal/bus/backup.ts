import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { readTextFile, reasonOf, secretMode } from "../base/file.ts";
import { createFiles, isPresent, makePrivateDirectory, writing } from "../base/new-files.ts";
import type { Bus } from "./connect.ts";
import { restoreStream, type SnapshotHead, snapshotStream, storedStreams } from "./snapshot.ts";

/** Written last: a directory without it is no backup. */
const manifestName = "backup.json";
const chunkBytes = 128 * 1024;

const schema = v.object({
  v: v.literal(1),
  created_at: v.string(),
  /** What the backup knows last of what operators decided; absent in backups of earlier versions. */
  newest_decision: v.optional(v.record(v.string(), v.unknown())),
  streams: v.array(
    v.object({
      name: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]+$/)),
      bytes: v.number(),
      sha256: v.string(),
      config: v.record(v.string(), v.unknown()),
      state: v.record(v.string(), v.unknown()),
    }),
  ),
});

type Manifest = v.InferOutput<typeof schema>;
/** What a backup contains. */
export interface Backup {
  streams: Pick<Manifest["streams"][number], "name" | "bytes">[];
  newest_decision?: Readonly<Record<string, unknown>>;
}

/**
 * Writes everything that is stored on the bus into a new directory, for the owner alone. What is kept in
 * memory, the challenges of a few minutes, is left out.
 *
 * @param readNewest the newest decision that is stored; asked before the first stream is read, so that the backup
 *   contains it
 * @throws SvcError `conflict` when the directory holds a backup, `storage` or `unavailable`
 */
export async function backUpBus(
  bus: Bus,
  dir: string,
  readNewest: () => Promise<Record<string, unknown> | undefined>,
): Promise<Backup> {
  const manifestPath = join(dir, manifestName);
  if (isPresent(manifestPath))
    throw new SvcError("conflict", `${manifestPath} exists: choose another directory`);
  writing(dir, () => makePrivateDirectory(dir));
  const written: string[] = [];
  const streams: Manifest["streams"] = [];
  let newest: Record<string, unknown> | undefined;
  try {
    newest = await readNewest();
    for (const name of await storedStreams(bus)) {
      const path = snapshotPath(dir, name);
      const file = createFile(path);
      written.push(path);
      const hash = createHash("sha256");
      let bytes = 0;
      try {
        const head = await snapshotStream(bus, name, (chunk) => {
          for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
          hash.update(chunk);
          bytes += chunk.length;
        });
        fsyncSync(file);
        streams.push({ name, bytes, sha256: hash.digest("hex"), ...head });
      } finally {
        closeSync(file);
      }
    }
    const manifest: Manifest = {
      v: 1,
      created_at: rfc3339(bus.clock.now()),
      ...(newest === undefined ? {} : { newest_decision: newest }),
      streams,
    };
    createFiles([
      { path: manifestPath, data: `${JSON.stringify(manifest, undefined, 2)}\n`, mode: secretMode },
    ]);
  } catch (cause) {
    for (const path of written) rmSync(path);
    throw cause;
  }
  return shown(streams, newest);
}

/**
 * Puts a backup onto a bus that has none of its streams. Every file is checked before the first is sent.
 *
 * @param replicas on how many servers of a cluster each stream is to be
 * @throws SvcError `bad_request` for a directory that is no whole backup, `conflict` naming a stream that
 *   exists, `unavailable` with what the server said
 */
export async function restoreBus(bus: Bus, dir: string, replicas: number): Promise<Backup> {
  const { streams, newest_decision: newest } = readManifest(dir);
  for (const { name, sha256 } of streams) {
    const path = snapshotPath(dir, name);
    const hash = createHash("sha256");
    for (const chunk of chunksOf(path)) hash.update(chunk);
    if (hash.digest("hex") !== sha256)
      throw new SvcError("bad_request", `${path} is damaged: its digest differs`);
  }
  const present = new Set(await storedStreams(bus));
  const taken = streams.find(({ name }) => present.has(name));
  if (taken !== undefined) {
    throw new SvcError(
      "conflict",
      `the bus has ${taken.name} already: restore onto a new bus, before a master runs on it`,
    );
  }
  for (const { name, config, state } of streams) {
    const head: SnapshotHead = { config, state };
    await restoreStream(bus, name, head, chunksOf(snapshotPath(dir, name)), replicas);
  }
  return shown(streams, newest);
}

function shown(streams: Manifest["streams"], newest: Manifest["newest_decision"]): Backup {
  return {
    streams: streams.map(({ name, bytes }) => ({ name, bytes })),
    ...(newest === undefined ? {} : { newest_decision: newest }),
  };
}

function snapshotPath(dir: string, stream: string): string {
  return join(dir, `${stream}.snapshot`);
}

function readManifest(dir: string): Manifest {
  const path = join(dir, manifestName);
  const text = readTextFile(path, "the backup");
  try {
    return v.parse(schema, JSON.parse(text));
  } catch {
    throw new SvcError("bad_request", `${path} is not what svc bus backup writes`);
  }
}

function* chunksOf(path: string): Generator<Uint8Array> {
  const file = openFile(path);
  try {
    for (;;) {
      const chunk = Buffer.alloc(chunkBytes);
      const length = readSync(file, chunk);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

function createFile(path: string): number {
  try {
    return openSync(path, "wx", secretMode);
  } catch (cause) {
    throw new SvcError("storage", `cannot write ${path}: ${reasonOf(cause)}`);
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch {
    throw new SvcError("bad_request", `${path} is missing: the backup is not whole`);
  }
}
