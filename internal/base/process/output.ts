import { closeSync } from "node:fs";
import { type CapturedText, captureEnds } from "./capture.ts";
import { openPipe } from "./pipe.ts";

/** One output stream of a process that is about to start. */
export interface Output {
  /** What the process gets as its stream. */
  readonly target: number | "pipe";
  /**
   * Reads to the end, or until `abandon`. Call it once, after the process has started.
   *
   * @param stream the stream of the process object, when it has one
   */
  read(stream: unknown): Promise<void>;
  /** Stops reading while another process still holds the stream. */
  abandon(): void;
  /** Releases the stream when the process could not be started. */
  discard(): void;
  /** What was read so far. */
  text(): CapturedText;
}

/**
 * @param limit number of bytes to keep, half of them from each end
 * @param options `onChunk` is called with all that is read, `decode` makes a text of it
 */
export function openOutput(
  limit: number,
  options: { onChunk?: (chunk: Uint8Array) => void; decode?: (bytes: Buffer) => string } = {},
): Output {
  const { onChunk, decode } = options;
  const pipe = openPipe();
  const capture = captureEnds(limit, decode);
  let cancel = () => {};
  return {
    target: pipe?.write ?? "pipe",
    async read(stream) {
      // Our copy would keep the pipe open after the process closed its own.
      if (pipe !== undefined) closeSync(pipe.write);
      const source = pipe === undefined ? stream : Bun.file(pipe.read).stream();
      if (!(source instanceof ReadableStream)) return;
      const reader = source.getReader();
      cancel = () => void reader.cancel();
      try {
        for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
          capture.add(chunk.value);
          onChunk?.(chunk.value);
        }
      } finally {
        if (pipe !== undefined) closeSync(pipe.read);
      }
    },
    abandon: () => cancel(),
    discard() {
      if (pipe === undefined) return;
      closeSync(pipe.read);
      closeSync(pipe.write);
    },
    text: capture.text,
  };
}
