import { gunzipSync } from "node:zlib";
import { attempt, SvcError } from "../../base/errors.ts";
import { readTar, type TarFile } from "../../base/files/tar.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type FileSource, fileProblem, maxFiles, snapshotOf } from "../../tree/files/mod.ts";
import type { SettingsTree } from "../../tree/settings/mod.ts";

/** A checkout that was sent to be planned. */
export interface SentTree {
  /** Absent where settings alone were sent. */
  files?: { source: FileSource; snapshot: string };
  /** Absent where state files alone were sent. */
  settings?: SettingsTree;
  /** What was left out, for people. */
  notes: readonly string[];
}

/** A small archive may unpack to any size. */
const maxUnpackedBytes = 256 * 1024 * 1024;
const maxSettingsBytes = 1024 * 1024;
const states = "states/";
const settings = "settings/";

/**
 * Reads an archive (tar, also with gzip): state files below `states/`, and settings below `settings/`; without either
 * directory all of it is state files.
 *
 * @throws SvcError `bad_request`, `too_large`
 */
export function readSentTree(bytes: Uint8Array, environment: string): SentTree {
  const { files, leftOut } = readTar(unpacked(bytes), maxFiles);
  if (files.length === 0) throw new SvcError("bad_request", "the tree that was sent has no files");
  const isSplit = files.some(({ path }) => path.startsWith(states) || path === "settings/top.sls");
  const below = (directory: string) =>
    files.flatMap((file) =>
      file.path.startsWith(directory) ? [{ ...file, path: file.path.slice(directory.length) }] : [],
    );
  const ofStates = isSplit ? below(states) : files;
  const ofSettings = isSplit ? below(settings) : [];
  const links = leftOut.sort().slice(0, 3).join(", ");
  const more = leftOut.length > 3 ? ` and ${leftOut.length - 3} more` : "";
  return {
    notes: leftOut.length === 0 ? [] : [`left out, because they are not plain files: ${links}${more}`],
    ...(ofStates.length === 0 ? {} : { files: sourceOf(ofStates, environment) }),
    ...(ofSettings.length === 0 ? {} : { settings: settingsOf(ofSettings) }),
  };
}

function unpacked(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: maxUnpackedBytes });
  } catch (cause) {
    const isLarge = cause instanceof RangeError;
    const reason = isLarge ? "it unpacks to more than 256 MiB" : "it is not the whole of a gzip file";
    throw new SvcError(isLarge ? "too_large" : "bad_request", `the tree cannot be read: ${reason}`, {
      cause,
    });
  }
}

function sourceOf(files: readonly TarFile[], environment: string): { source: FileSource; snapshot: string } {
  const found = new Map(
    files.flatMap(({ path, executable, data }) => {
      if (fileProblem({ path, size: data.length }) !== undefined) return [];
      return [[path, { executable, data, size: data.length, digest: sha256Hex(data) }] as const];
    }),
  );
  const paths = [...found.keys()].sort();
  const source: FileSource = {
    environment,
    stat: (path) => found.get(path),
    async read(path) {
      const file = found.get(path);
      if (file !== undefined) return file.data;
      throw new SvcError("not_found", `the tree has no file ${path}`);
    },
    list: (directory) =>
      directory === "" ? paths : paths.filter((path) => path.startsWith(`${directory}/`)),
  };
  return { source, snapshot: snapshotOf(found) };
}

/** As a master reads a directory of settings. */
function settingsOf(files: readonly TarFile[]): SettingsTree {
  const isHidden = (path: string) =>
    path.split("/").some((name) => name.startsWith(".") || name.endsWith("~"));
  const shown = files.filter(({ path }) => !isHidden(path));
  return { directory: "settings", files: new Map(shown.map((file) => [file.path, readOne(file)])) };
}

function readOne({ data }: TarFile): TreeFile {
  const digest = sha256Hex(data);
  const whole = { stamp: digest, digest };
  if (data.length > maxSettingsBytes) return { ...whole, problem: "it is larger than 1 MiB" };
  const text = attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(data));
  return text === undefined ? { ...whole, problem: "it is not UTF-8 text" } : { ...whole, text };
}

type TreeFile = SettingsTree["files"] extends ReadonlyMap<string, infer File> ? File : never;
