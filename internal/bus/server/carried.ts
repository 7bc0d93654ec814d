import { readdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../base/file.ts";
import { makePrivateDirectory, writing } from "../../base/new-files.ts";
import { sha256Hex } from "../../base/sha256.ts";

const executableMode = 0o755;
const unpackedName = /^nats-server-[0-9a-f]{16}$/;

/** The nats-server inside this executable, if it was built with one. */
export function carriedServer(): Blob | undefined {
  return Bun.embeddedFiles.find((file) => "name" in file && /^nats-server\b/.test(String(file.name)));
}

/**
 * Puts a carried server on the disk, whole and under a name that its digest is a part of. One that is
 * there is compared byte by byte and replaced when it differs; those of other versions are removed.
 *
 * @param directory where the files are, made for the owner alone if missing
 * @returns path of the executable
 * @throws SvcError `storage` naming the file
 */
export async function unpackServer(carried: Blob, directory: string): Promise<string> {
  const bytes = Buffer.from(await carried.arrayBuffer());
  const name = `nats-server-${sha256Hex(bytes).slice(0, 16)}`;
  const path = join(directory, name);
  writing(path, () => {
    makePrivateDirectory(directory);
    if (!isSame(path, bytes)) writeFileAtomic(path, bytes, executableMode);
    for (const other of readdirSync(directory)) {
      if (other !== name && unpackedName.test(other)) unlinkSync(join(directory, other));
    }
  });
  return path;
}

function isSame(path: string, bytes: Buffer): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & 0o777) !== executableMode) return false;
  return readFileSync(path).equals(bytes);
}
