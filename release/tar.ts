/** One member of an archive. All members belong to root. */
export interface Member {
  /** Path from the root of the archive, such as `./usr/bin/svc`. A directory ends with a slash. */
  path: string;
  /** Permission bits, such as `0o755`. */
  mode: number;
  /** Content; empty for a directory. */
  data: Uint8Array;
}

const block = 512;

/**
 * Writes a tar file (ustar, POSIX.1-1988). The same members always give the same bytes.
 *
 * @param time of every member, in seconds since 1970
 * @throws Error for a path that does not fit into its field of 100 bytes
 */
export function writeTar(members: readonly Member[], time: number): Uint8Array {
  const parts = members.flatMap((member) => [
    header(member, time),
    member.data,
    new Uint8Array((block - (member.data.length % block)) % block),
  ]);
  return Buffer.concat([...parts, new Uint8Array(2 * block)]);
}

function header({ path, mode, data }: Member, time: number): Uint8Array {
  if (Buffer.byteLength(path) > 99) throw new Error(`${path} is too long for the archive`);
  const bytes = Buffer.alloc(block);
  const octal = (value: number, offset: number, length: number) =>
    bytes.write(value.toString(8).padStart(length - 1, "0"), offset);
  bytes.write(path, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(data.length, 124, 12);
  octal(time, 136, 12);
  // The checksum counts its own field as spaces.
  bytes.fill(" ", 148, 156);
  bytes.write(path.endsWith("/") ? "5" : "0", 156);
  bytes.write("ustar\u000000", 257);
  bytes.write("root", 265);
  bytes.write("root", 297);
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  bytes[154] = 0;
  return bytes;
}
