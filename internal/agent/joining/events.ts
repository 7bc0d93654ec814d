import { SvcError } from "../../base/errors.ts";
import { isMap } from "../../base/plain-map.ts";

const maxEventBytes = 64 * 1024;

/**
 * Reads server-sent events (WHATWG HTML, section 9.2) with their JSON data until the stream ends.
 *
 * @param onBytes called whenever data arrives, including comments
 * @param onEvent returns whether to stop
 * @throws SvcError `unavailable` for an event that is too long; network errors
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
  onEvent: (event: string, data: Record<string, unknown>) => boolean,
): Promise<void> {
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const chunk of body) {
    onBytes();
    buffer += decoder.decode(chunk, { stream: true }).replaceAll("\r\n", "\n");
    for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
      const block = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      const event = /^event: ?(.+)$/m.exec(block)?.[1];
      const data = /^data: ?(.+)$/m.exec(block)?.[1];
      if (event !== undefined && onEvent(event, parseObject(data ?? ""))) return;
    }
    if (buffer.length > maxEventBytes) throw new SvcError("unavailable", "an event is too long");
  }
}

/** Parses a JSON object. Returns an empty object when the text is not one. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : {};
  } catch {
    return {};
  }
}
