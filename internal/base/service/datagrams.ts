import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "../files/libc.ts";

const unixFamily = 1;
/** SOCK_DGRAM and SOCK_CLOEXEC of every Linux platform that Bun runs on. */
const datagramSocket = 2 | 0o2000000;
/** MSG_NOSIGNAL and MSG_DONTWAIT: a receiver that is slow must not hold this process. */
const sendFlags = 0x4000 | 0x40;
/** Bytes of `sun_path` (unix(7)). */
const maxPath = 108;

/** Sends datagrams to a Unix socket; node:dgram knows none of those. */
export interface Datagrams {
  /** @returns whether the kernel has taken it */
  send(data: Uint8Array): boolean;
  close(): void;
}

/**
 * Opens a socket that sends to the process that listens on this address at the time.
 *
 * @param address an absolute path, or `@` and the name of an abstract socket
 * @returns `undefined` for another address, or where the system has no such sockets
 */
export function openDatagrams(address: string): Datagrams | undefined {
  const path = socketPath(address);
  if (path === undefined) return undefined;
  const libc = openLibc({
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    sendto: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  });
  if (libc === undefined) return undefined;
  const { socket, sendto, close } = libc.symbols;
  const descriptor = socket(unixFamily, datagramSocket, 0);
  const name = Buffer.concat([Buffer.of(unixFamily, 0), path]);
  if (descriptor < 0) {
    libc.close();
    return undefined;
  }
  return {
    send(data) {
      if (data.length === 0) return false;
      const count = sendto(descriptor, ptr(data), data.length, sendFlags, ptr(name), name.length);
      return Number(count) === data.length;
    },
    close() {
      close(descriptor);
      libc.close();
    },
  };
}

/** `sun_path` of an address: a path ends with a zero byte, and an abstract name begins with one. */
function socketPath(address: string): Buffer | undefined {
  const path = address.startsWith("@")
    ? Buffer.concat([Buffer.of(0), Buffer.from(address.slice(1))])
    : Buffer.concat([Buffer.from(address), Buffer.of(0)]);
  return /^(?:\/|@.)/s.test(address) && path.length <= maxPath ? path : undefined;
}
