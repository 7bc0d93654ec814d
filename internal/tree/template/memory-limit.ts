/** Id of the memory section of a module. */
const memorySection = 5;
const header = 8;

/**
 * Sets the maximum memory size of a WebAssembly module. Without a maximum, a module could use all available
 * memory.
 *
 * @param pages of 64 KiB
 * @throws Error when the module does not have exactly one own memory without a maximum
 */
export function limitMemory(module: Uint8Array, pages: number): Uint8Array<ArrayBuffer> {
  for (let at = header; at < module.length; ) {
    const size = readNumber(module, at + 1);
    const end = size.next + size.value;
    if (module[at] === memorySection) {
      const count = readNumber(module, size.next);
      if (count.value !== 1 || module[count.next] !== 0) break;
      const least = module.subarray(count.next + 1, end);
      const content = [1, 1, ...least, ...writeNumber(pages)];
      const section = [memorySection, ...writeNumber(content.length), ...content];
      return joined(module.subarray(0, at), section, module.subarray(end));
    }
    at = end;
  }
  throw new Error("the WebAssembly module has no memory that can be limited");
}

function joined(before: Uint8Array, between: readonly number[], after: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(before.length + between.length + after.length);
  all.set(before);
  all.set(between, before.length);
  all.set(after, before.length + between.length);
  return all;
}

/** Reads an unsigned LEB128 number. */
function readNumber(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0;
  let next = from;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[next++] ?? 0;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, next };
  }
}

function writeNumber(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...writeNumber(value >>> 7)];
}
