import { SvcError } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { FileSource } from "./files.ts";
import { blobsOf, type Manifest, type ManifestFile, type SnapshotOrigin } from "./manifest.ts";
import { snapshotOf } from "./snapshot.ts";

/** The files of a published snapshot. */
export interface SnapshotSource extends FileSource {
  /** Digest of its manifest. */
  readonly manifest: string;
  /** Digest of its files. */
  readonly snapshot: string;
  readonly origin: SnapshotOrigin;
}

/**
 * @param readBlob returns the verified bytes of a blob. @throws SvcError when they are not available
 * @param snapshot where it was computed before from the files of exactly this manifest: of many files that takes a while
 */
export function createSnapshotSource(
  digest: string,
  manifest: Manifest,
  readBlob: (digest: string) => Promise<Uint8Array>,
  snapshot?: string,
): SnapshotSource {
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const paths = manifest.files.map(({ path }) => path);
  const read = async (file: ManifestFile): Promise<Uint8Array> => {
    if (file.blobs === undefined) return readBlob(file.digest);
    const parts: Uint8Array[] = [];
    for (const blob of blobsOf(file)) parts.push(await readBlob(blob));
    const whole = Buffer.concat(parts);
    if (sha256Hex(whole) === file.digest) return whole;
    throw new SvcError("storage", `the state file ${file.path} does not match its digest`);
  };
  return {
    environment: manifest.environment,
    manifest: digest,
    snapshot: snapshot ?? snapshotOf(files),
    origin: manifest.origin,
    stat(path) {
      const file = files.get(path);
      if (file === undefined) return undefined;
      return { digest: file.digest, size: file.size, executable: file.executable };
    },
    async read(path) {
      const file = files.get(path);
      if (file !== undefined) return read(file);
      throw noFile(path, manifest.environment);
    },
    list: (directory) => below(paths, directory),
  };
}

/** Returns the paths below a directory, from a sorted list of paths. */
export function below(sorted: readonly string[], directory: string): readonly string[] {
  if (directory === "") return sorted;
  const prefix = `${directory}/`;
  return sorted.filter((path) => path.startsWith(prefix));
}

export function noFile(path: string, environment: string): SvcError {
  return new SvcError("not_found", `the environment ${environment} has no file ${path}`);
}
