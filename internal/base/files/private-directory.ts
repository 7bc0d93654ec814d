import { isErrno, temporaryName } from "./file.ts";
import type { OpenedDirectory } from "./opened-directory.ts";

/** An empty directory that no other user can enter. Disposing of it removes it with its contents. */
export interface PrivateDirectory extends Disposable {
  directory: OpenedDirectory;
  /** Its name in the parent. */
  name: string;
}

/**
 * Creates a private directory in an open directory. It stays private wherever another user moves it.
 *
 * @param name a part of its name
 */
export function createPrivateDirectory(parent: OpenedDirectory, name: string): PrivateDirectory {
  const own = temporaryName(name);
  const directory = parent.makePrivate(own);
  return {
    directory,
    name: own,
    [Symbol.dispose]() {
      try {
        for (const each of directory.names()) directory.removeTree(each);
        removeEmpty(parent, own);
      } finally {
        directory[Symbol.dispose]();
      }
    },
  };
}

/** Where another user moved the directory, an empty one remains. */
function removeEmpty(parent: OpenedDirectory, name: string): void {
  try {
    parent.removeEmpty(name);
  } catch (cause) {
    if (!["ENOENT", "ENOTDIR", "ENOTEMPTY"].some((code) => isErrno(cause, code))) throw cause;
  }
}
