import { createHash } from "node:crypto";
import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, reasonOf, secretMode } from "../../base/files/file.ts";
import { createFiles, isPresent, makePrivateDirectory, writing } from "../../base/files/new-files.ts";
import { retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bus } from "../connection/mod.ts";
import { streamState } from "../jetstream/mod.ts";
import { replicaProblem, surveyServers } from "../servers/mod.ts";
import { restoreStream, type SnapshotHead, snapshotStream, storedStreams } from "./snapshot.ts";

/** Written last: a directory without it is not a backup. */
const manifestName = "backup.json";
const chunkBytes = 128 * 1024;

const schema = v.object({
  v: v.literal(1),
  created_at: v.string(),
  /** What the backup knows last of what operators decided; absent before the first decision. */
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
 * Writes everything that is stored on the bus into a new directory that only the owner can read. The
 * challenges, which are kept in memory for a few minutes, are left out.
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
      let hash = createHash("sha256");
      let bytes = 0;
      const readOnce = () => {
        ftruncateSync(file, 0);
        hash = createHash("sha256");
        bytes = 0;
        return snapshotStream(bus, name, (chunk) => {
          for (let at = 0; at < chunk.length; ) {
            at += writeSync(file, chunk, at, chunk.length - at, bytes + at);
          }
          hash.update(chunk);
          bytes += chunk.length;
        });
      };
      try {
        const exhausted = `${name}: its consumers change all the time: try again`;
        const head = await retryOnConflict(readOnce, { exhausted });
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
 * Restores a backup to a bus that has none of its streams. Every file is checked before the first one is
 * sent.
 *
 * @param replicas on how many servers of a cluster each stream is stored
 * @param only names of streams; absent means all
 * @throws SvcError `bad_request` for a directory that is not a complete backup, and for replicas on servers
 * that are too old for them; `conflict` naming a stream that exists, `unavailable` with the message of the
 * server
 */
export async function restoreBus(
  bus: Bus,
  dir: string,
  replicas: number,
  only?: ReadonlySet<string>,
): Promise<Backup> {
  if (replicas > 1) await assertReplicable(bus);
  const { streams: all, newest_decision: newest } = readManifest(dir);
  const streams = all.filter(({ name }) => only?.has(name) !== false);
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
      `the bus already has ${taken.name}: restore to a new bus, before a master runs on it`,
    );
  }
  for (const { name, config, state } of streams) {
    const head: SnapshotHead = { config, state };
    await restoreStream(bus, name, head, chunksOf(snapshotPath(dir, name)), replicas);
  }
  return shown(streams, newest);
}

/**
 * Restores what a bus does not have of a backup, each stream on one server, so that an interrupted restore continues.
 *
 * @param last the name of the stream that is restored after all others: a reader that finds it finds all
 * @throws SvcError as `restoreBus`; `conflict` naming a stream of the bus that has less than the backup
 */
export async function restoreMissing(bus: Bus, dir: string, last: string): Promise<void> {
  const { streams } = readManifest(dir);
  const present = new Set(await storedStreams(bus));
  for (const { name, state } of streams.filter((one) => present.has(one.name))) {
    const { lastSequence } = await streamState(bus, name);
    if (lastSequence >= Number(state.last_seq ?? 0)) continue;
    throw new SvcError(
      "conflict",
      `the cluster has another ${name}, which is not of this fleet: stop the other servers, remove their jetstream directories, and start them again`,
    );
  }
  const missing = streams.map(({ name }) => name).filter((name) => !present.has(name));
  await restoreBus(bus, dir, 1, new Set(missing.filter((name) => name !== last)));
  if (missing.includes(last)) await restoreBus(bus, dir, 1, new Set([last]));
}

function shown(streams: Manifest["streams"], newest: Manifest["newest_decision"]): Backup {
  return {
    streams: streams.map(({ name, bytes }) => ({ name, bytes })),
    ...(newest === undefined ? {} : { newest_decision: newest }),
  };
}

/** A restore creates what masters decide on: on a server of unknown version they could decide twice. */
async function assertReplicable(bus: Bus): Promise<void> {
  const { servers, silent } = await surveyServers(bus);
  const problem = replicaProblem(servers);
  const unknown = `the version of ${silent.join(", ")} is not known: nothing answers there`;
  if (problem === undefined && silent.length === 0) return;
  const advice = "upgrade or start these servers, or restore with --replicas 1";
  throw new SvcError("bad_request", `${problem ?? unknown}: ${advice}`);
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
    throw new SvcError("bad_request", `${path} was not written by svc bus backup`);
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
    throw new SvcError("bad_request", `${path} is missing: the backup is not complete`);
  }
}
