import { readdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory, writing } from "../../base/files/new-files.ts";
import { sha256Hex } from "../../base/sha256.ts";

const executableMode = 0o755;
const unpackedName = /^nats-server-[0-9a-f]{16}$/;

/** The nats-server embedded in this executable, if it was built with one. */
export function carriedServer(): Blob | undefined {
  return Bun.embeddedFiles.find((file) => "name" in file && /^nats-server\b/.test(String(file.name)));
}

/**
 * Writes the embedded server to disk atomically, under a name that contains its digest. An existing file is
 * compared byte by byte and replaced when it differs. Files of other versions are removed.
 *
 * @param directory the directory of the files; created with access for the owner only if missing
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
