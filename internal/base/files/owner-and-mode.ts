import { fchmodSync, fchownSync, fstatSync } from "node:fs";

/** Owner and permission bits of a file; `undefined` leaves them unchanged. */
export interface FileAttributes {
  uid: number | undefined;
  gid: number | undefined;
  mode: number | undefined;
}

/** Sets the owner and then the mode of an open file, because changing the owner clears special bits. */
export function setOwnerAndMode(file: number, { uid, gid, mode }: FileAttributes): void {
  if (uid !== undefined || gid !== undefined) {
    const stats = fstatSync(file);
    if ((uid ?? stats.uid) !== stats.uid || (gid ?? stats.gid) !== stats.gid) {
      fchownSync(file, uid ?? -1, gid ?? -1);
    }
  }
  if (mode !== undefined) fchmodSync(file, mode);
}
