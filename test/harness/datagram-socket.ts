import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "../../internal/base/files/libc.ts";

/** A Unix datagram socket that takes what services say to their manager. */
export interface DatagramSocket extends Disposable {
  /** Waits for the next message, and blocks the process meanwhile. */
  receive(): string;
}

/** @param address an absolute path, or `@` and the name of an abstract socket */
export function openDatagramSocket(address: string): DatagramSocket {
  const libc = openLibc({
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    bind: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    recv: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64 },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  });
  if (libc === undefined) throw new Error("no C library of Linux");
  const { socket, bind, recv, close } = libc.symbols;
  const descriptor = socket(1, 2, 0);
  const name = Buffer.from(address.startsWith("@") ? `\0${address.slice(1)}` : `${address}\0`);
  const bound = Buffer.concat([Buffer.of(1, 0), name]);
  if (bind(descriptor, ptr(bound), bound.length) !== 0) throw new Error(`cannot listen on ${address}`);
  return {
    receive() {
      const data = new Uint8Array(4096);
      const size = Number(recv(descriptor, ptr(data), data.length, 0));
      if (size < 0) throw new Error(`cannot receive on ${address}`);
      return Buffer.from(data.subarray(0, size)).toString();
    },
    [Symbol.dispose]() {
      close(descriptor);
      libc.close();
    },
  };
}
