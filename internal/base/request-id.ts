import { randomUUID } from "node:crypto";
import { decode } from "./msgpack.ts";

/** Makes an id for a request without one. It only marks log records. */
export function newRequestId(): string {
  return randomUUID();
}

/**
 * A request id sent by a client, if it is acceptable: 1 to 128 plain characters, because it is logged and
 * stored with jobs.
 */
export function requestIdOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(value) ? value : undefined;
}

/**
 * The `request_id` of a MessagePack map, if it has an acceptable one. Malformed bytes have none; the reader
 * of the whole message reports the error.
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
