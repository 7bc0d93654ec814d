const mebibyte = 1024 * 1024;

/** The bytes of a disk, and how many of them may still be written. */
export interface DiskRoom {
  free: number;
  total: number;
  /** The same of files; absent where the file system has no limit. */
  files?: { free: number; total: number };
}

/** What the system says of a file system. */
export interface FileSystemStats {
  bavail: number;
  blocks: number;
  bsize: number;
  ffree: number;
  files: number;
}

/** The room on a disk. */
export function roomOf({ bavail, blocks, bsize, ffree, files }: FileSystemStats): DiskRoom {
  const room = { free: bavail * bsize, total: blocks * bsize };
  return files === 0 ? room : { ...room, files: { free: ffree, total: files } };
}

/**
 * What to report of a full disk.
 *
 * @param lacks whether it lacks inodes, and not bytes
 * @param who what continues once there is room, such as `the bus`
 */
export function describeFullDisk(
  { free, total, files }: DiskRoom,
  lacks: { files: boolean },
  directory: string,
  who: string,
): { message: string; next: string } {
  const words = lacks.files
    ? `${files?.free} of ${files?.total} inodes are free`
    : `${Math.floor(free / 1024)} KiB of ${Math.floor(total / mebibyte)} MiB are free`;
  const next = lacks.files
    ? `remove files from the disk of ${directory}, of which it holds too many`
    : `make room on the disk of ${directory}`;
  return {
    message: `the disk of ${directory} is full: ${words}`,
    next: `${next}: ${who} continues by itself`,
  };
}
