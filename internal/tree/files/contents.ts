import { createHash } from "node:crypto";
import { sha256Hex } from "../../base/sha256.ts";
import { type ManifestFile, maxBlobBytes } from "./manifest.ts";

/** A file that can be published: its metadata and a reader of its bytes. */
export interface Content extends Omit<ManifestFile, "path"> {
  /** Reads the current bytes, cut into blobs; the caller verifies them. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** Files by path. Immutable: a change creates a new map. */
export type Contents = ReadonlyMap<string, Content>;

/** Overlays layers: when several layers have a file with the same path, the first one wins. */
export function overlay(layers: readonly Contents[]): Contents {
  const [only] = layers;
  if (only !== undefined && layers.length === 1) return only;
  const all = new Map<string, Content>();
  for (const layer of layers.toReversed()) for (const [path, content] of layer) all.set(path, content);
  return all;
}

/** Computes the manifest fields of content that arrives in pieces of `maxBlobBytes`. */
export interface Hashing {
  add(piece: Uint8Array): void;
  result(): Pick<ManifestFile, "digest" | "size" | "blobs">;
}

export function startHashing(): Hashing {
  const whole = createHash("sha256");
  const blobs: string[] = [];
  let size = 0;
  return {
    add(piece) {
      whole.update(piece);
      size += piece.length;
      blobs.push(sha256Hex(piece));
    },
    result: () => ({ digest: whole.digest("hex"), size, ...(size > maxBlobBytes ? { blobs } : {}) }),
  };
}

/** Cuts bytes into blobs; empty content becomes one empty blob. */
export function cut(data: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < data.length; at += maxBlobBytes) {
    pieces.push(data.subarray(at, at + maxBlobBytes));
  }
  return pieces;
}
