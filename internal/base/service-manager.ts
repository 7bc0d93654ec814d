import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "./libc.ts";

/**
 * The service manager that started this process, such as systemd for a unit with `Type=notify`. Without one
 * nothing happens.
 */
export interface ServiceManager {
  /** Whether there is one that wants to know. */
  readonly listens: boolean;
  /** Says what the service is doing: one line for people. */
  status(text: string): void;
  /** Says that the service has started. */
  ready(status: string): void;
  /** Says that it is about to end. */
  stopping(): void;
}

const variable = "NOTIFY_SOCKET";

/**
 * Takes the address of the service manager out of an environment: what this process starts cannot speak in
 * its name (sd_notify(3)).
 *
 * @param onFailure called when a message could not be sent
 */
export function takeServiceManager(
  env: Record<string, string | undefined>,
  onFailure: () => void,
): ServiceManager {
  const address = env[variable] === "" ? undefined : env[variable];
  delete env[variable];
  const send = (...lines: readonly string[]) => {
    if (address !== undefined && !sendDatagram(address, lines.join("\n"))) onFailure();
  };
  const statusLine = (text: string) => `STATUS=${text.replaceAll("\n", " ")}`;
  return {
    listens: address !== undefined,
    status: (text) => send(statusLine(text)),
    ready: (text) => send("READY=1", statusLine(text)),
    stopping: () => send("STOPPING=1", statusLine("stopping")),
  };
}

const unixFamily = 1;
/** SOCK_DGRAM and SOCK_CLOEXEC of every Linux platform that Bun runs on. */
const datagramSocket = 2 | 0o2000000;
/** MSG_NOSIGNAL */
const noSignal = 0x4000;
/** Bytes of `sun_path` (unix(7)). */
const longestPath = 108;

/**
 * Sends one datagram to a Unix socket; node:dgram knows none of those, and systemd's own `systemd-notify`
 * would be another process, which a unit with `NotifyAccess=main` does not listen to.
 *
 * @param address an absolute path, or `@` and the name of an abstract socket
 * @returns whether the kernel has taken it
 */
function sendDatagram(address: string, text: string): boolean {
  const path = socketPath(address);
  if (path === undefined) return false;
  const libc = openLibc({
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    sendto: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  });
  if (libc === undefined) return false;
  const { socket, sendto, close } = libc.symbols;
  const descriptor = socket(unixFamily, datagramSocket, 0);
  let sent = false;
  if (descriptor >= 0) {
    const name = Buffer.concat([Buffer.of(unixFamily, 0), path]);
    const data = Buffer.from(text);
    const count = sendto(descriptor, ptr(data), data.length, noSignal, ptr(name), name.length);
    sent = Number(count) === data.length;
    close(descriptor);
  }
  libc.close();
  return sent;
}

/** `sun_path` of an address: a path ends with a zero byte, and an abstract name begins with one. */
function socketPath(address: string): Buffer | undefined {
  const path = address.startsWith("@")
    ? Buffer.concat([Buffer.of(0), Buffer.from(address.slice(1))])
    : Buffer.concat([Buffer.from(address), Buffer.of(0)]);
  return /^(?:\/|@.)/s.test(address) && path.length <= longestPath ? path : undefined;
}
