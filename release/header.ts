import { closeSync, openSync, readSync } from "node:fs";
import type { Header } from "./targets.ts";

/**
 * The platform of an executable file, from its first bytes.
 *
 * @throws Error when it is neither a 64-bit ELF nor a 64-bit Mach-O file of a known machine
 */
export function readHeader(path: string): Header {
  const bytes = Buffer.alloc(20);
  const file = openSync(path, "r");
  try {
    readSync(file, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(file);
  }
  // ELF: magic, class 2 (64 bit), e_machine at 18. Mach-O: MH_MAGIC_64, cputype at 4.
  if (bytes.readUInt32BE(0) === 0x7f454c46 && bytes[4] === 2) {
    const machine = bytes.readUInt16LE(18);
    if (machine === 62) return { format: "elf", machine: "x64" };
    if (machine === 183) return { format: "elf", machine: "arm64" };
  }
  if (bytes.readUInt32LE(0) === 0xfeedfacf) {
    const machine = bytes.readUInt32LE(4);
    if (machine === 0x0100000c) return { format: "mach-o", machine: "arm64" };
    if (machine === 0x01000007) return { format: "mach-o", machine: "x64" };
  }
  throw new Error(`${path} is not an executable for a known platform`);
}

/** Whether an ELF file uses the loader of glibc, whose path is near its beginning. */
export function needsGlibc(path: string): boolean {
  const bytes = Buffer.alloc(4096);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    return bytes.subarray(0, length).includes("/ld-linux-");
  } finally {
    closeSync(file);
  }
}
