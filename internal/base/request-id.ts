import { randomUUID } from "node:crypto";
import { decode } from "./msgpack.ts";

/** Makes the id of a request that came without one. It names log lines and nothing else. */
export function newRequestId(): string {
  return randomUUID();
}

/**
 * An id of a request that came from outside, if it may be taken: 1 to 128 plain characters, as it ends up in
 * logs and is kept with jobs.
 */
export function requestIdOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(value) ? value : undefined;
}

/**
 * The `request_id` of a MessagePack map, if it has one that may be taken. Bytes that are no such map have none:
 * whoever reads the rest of them says what is wrong.
 */
export function readRequestId(bytes: Uint8Array): string | undefined {
  try {
    const value = decode(bytes);
    return typeof value === "object" && value !== null && "request_id" in value
      ? requestIdOf(value.request_id)
      : undefined;
  } catch {
    return undefined;
  }
}
