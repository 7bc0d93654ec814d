import { blobsOf, type ManifestFile } from "../files/mod.ts";
import { describeChange, describeSizes, maxDiffInput } from "../function/mod.ts";
import { type Blobs, type ChangedFile, readBlob } from "./changed-files.ts";

/**
 * The change of a file for people: the lines that differ, or one line with its sizes.
 *
 * @throws SvcError `not_found` for content that is no longer stored, `storage`
 */
export async function describeFile(blobs: Blobs, { path, before, after }: ChangedFile): Promise<string> {
  if (after === undefined) return `${path}: removed, it had ${before?.size ?? 0} bytes\n`;
  const mode = modeOf(path, before, after);
  if (before?.digest === after.digest) return mode;
  if (Math.max(before?.size ?? 0, after.size) > maxDiffInput) {
    return `${mode}${path}: ${describeSizes(before?.size, after.size)}\n`;
  }
  const old = before === undefined ? undefined : await contentOf(blobs, before);
  const text = await describeChange(path, old, await contentOf(blobs, after));
  if (text === "") return `${mode}${path}: new and empty\n`;
  return text.startsWith("---") ? `${mode}${text}` : `${mode}${path}: ${text}\n`;
}

function modeOf(path: string, before: ManifestFile | undefined, after: ManifestFile): string {
  if ((before?.executable ?? false) === after.executable) return "";
  return `${path}: ${after.executable ? "executable" : "no longer executable"}\n`;
}

async function contentOf(blobs: Blobs, file: ManifestFile): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (const digest of blobsOf(file)) pieces.push(await readBlob(blobs, digest));
  return Buffer.concat(pieces);
}
