import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";

/** The data of an event as it was typed. @throws Error that says what is expected */
export function readData(text: string): Record<string, Plain> {
  if (text.trim() === "") return {};
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (thrown) {
    throw new Error(`data is not JSON: ${thrown instanceof Error ? thrown.message : thrown}`);
  }
  if (isMap(read)) return read as Record<string, Plain>;
  throw new Error('data must be a JSON object, such as {"percent": 95}');
}
