import { SvcError } from "../base/errors.ts";

/** Largest request body, bytes (specification, section "Limits"). */
const maxBodyBytes = 4096;

/**
 * Reads a JSON body of at most 4 KB; stops reading as soon as it is longer.
 *
 * @returns `undefined` for an empty body when `required` is false
 * @throws SvcError `unsupported_media_type`, `too_large` or `bad_request`
 */
export async function readJson(request: Request, required: boolean): Promise<unknown> {
  const bytes = await readBounded(request);
  if (bytes.length === 0 && !required) return undefined;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new SvcError("unsupported_media_type", "the Content-Type must be application/json");
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new SvcError("bad_request", "the body is not valid JSON");
  }
}

async function readBounded(request: Request): Promise<Uint8Array> {
  const tooLarge = () => new SvcError("too_large", `the body may have at most ${maxBodyBytes} bytes`);
  const announced = request.headers.get("content-length");
  if (Number(announced ?? 0) > maxBodyBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (request.body === null) return new Uint8Array();
  try {
    if (announced !== null) {
      // Such a body ends where it said it would; reading it at once is several times cheaper.
      const bytes = await request.bytes();
      if (bytes.length > maxBodyBytes) throw tooLarge();
      return bytes;
    }
    for await (const chunk of request.body as ReadableStream<Uint8Array>) {
      length += chunk.length;
      if (length > maxBodyBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("bad_request", "the body ended before it was complete", { cause });
  }
  return Buffer.concat(chunks);
}
