import { createHash } from "node:crypto";
import { digestOf, type ManifestFile, maxBlobBytes } from "./manifest.ts";

/** A file that can be published: what it is, and where its bytes are. */
export interface Content extends Omit<ManifestFile, "path"> {
  /** The bytes as they are now, in the pieces of its blobs; the caller verifies them. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** Files by path. Whoever changes one makes a new map. */
export type Contents = ReadonlyMap<string, Content>;

/** Layers over each other: of files with the same path the first layer's is taken. */
export function overlay(layers: readonly Contents[]): Contents {
  const [only] = layers;
  if (only !== undefined && layers.length === 1) return only;
  const all = new Map<string, Content>();
  for (const layer of layers.toReversed()) for (const [path, content] of layer) all.set(path, content);
  return all;
}

/** What the manifest says of bytes that come in pieces of `maxBlobBytes`. */
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
      blobs.push(digestOf(piece));
    },
    result: () => ({ digest: whole.digest("hex"), size, ...(size > maxBlobBytes ? { blobs } : {}) }),
  };
}

/** Cuts bytes into the pieces of blobs; no bytes are one empty piece. */
export function cut(data: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < data.length; at += maxBlobBytes) {
    pieces.push(data.subarray(at, at + maxBlobBytes));
  }
  return pieces;
}
