import { SvcError } from "../../base/errors.ts";
import { type Contents, type FileSource, startHashing } from "../../tree/files/mod.ts";

/** The files of an environment that is not published yet. */
export function createContentSource(environment: string, contents: Contents): FileSource {
  let sorted: readonly string[] | undefined;
  return {
    environment,
    stat: (path) => contents.get(path),
    async read(path) {
      const content = contents.get(path);
      if (content === undefined) {
        throw new SvcError("not_found", `the environment ${environment} has no file ${path}`);
      }
      const hashing = startHashing();
      const pieces: Uint8Array[] = [];
      for await (const piece of content.pieces()) {
        hashing.add(piece);
        pieces.push(piece);
      }
      if (hashing.result().digest === content.digest) return Buffer.concat(pieces);
      throw new SvcError("conflict", `the state file ${path} changed while it was read`);
    },
    list(directory) {
      sorted ??= [...contents.keys()].sort();
      return directory === "" ? sorted : sorted.filter((path) => path.startsWith(`${directory}/`));
    },
  };
}
