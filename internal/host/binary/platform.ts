/** The platforms of peels. The baseline build for x64 counts as `linux-x64`. */
const platforms = ["linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl"] as const;

export type Platform = (typeof platforms)[number];

/** Number of leading bytes of an executable that identify its platform. */
export const headBytes = 4096;

const machines: Readonly<Record<number, "x64" | "arm64">> = { 62: "x64", 183: "arm64" };
/** Type of the program header that names the loader (elf(5), PT_INTERP). */
const interpreterType = 3;
const elf64 = 2;
const littleEndian = 1;

export function isPlatform(text: string): text is Platform {
  return platforms.some((platform) => platform === text);
}

/**
 * The platform of an executable, from its ELF header and its loader.
 *
 * @param head the first `headBytes` bytes of the file, or all of a shorter file
 * @returns `undefined` when it is not a Linux executable for a supported platform
 */
export function platformOf(head: Uint8Array): Platform | undefined {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (head.length < 64 || view.getUint32(0) !== 0x7f454c46) return undefined;
  if (head[4] !== elf64 || head[5] !== littleEndian) return undefined;
  const machine = machines[view.getUint16(18, true)];
  const loader = loaderOf(view);
  if (machine === undefined || loader === undefined) return undefined;
  return loader.includes("/ld-musl-") ? `linux-${machine}-musl` : `linux-${machine}`;
}

/** The path of the loader; `undefined` when it is not within the given bytes. */
function loaderOf(view: DataView): string | undefined {
  const table = Number(view.getBigUint64(32, true));
  const entryBytes = view.getUint16(54, true);
  const entries = view.getUint16(56, true);
  if (entryBytes < 56) return undefined;
  for (let index = 0; index < entries; index++) {
    const at = table + index * entryBytes;
    if (at + entryBytes > view.byteLength) return undefined;
    if (view.getUint32(at, true) !== interpreterType) continue;
    const offset = Number(view.getBigUint64(at + 8, true));
    const length = Number(view.getBigUint64(at + 32, true));
    if (offset + length > view.byteLength || length > 256) return undefined;
    return Buffer.from(view.buffer, view.byteOffset + offset, length).toString("latin1");
  }
  return undefined;
}
