import { describeError } from "../../../base/errors.ts";
import { StateFailure } from "../../function/mod.ts";
import { type SourceHash, verifying } from "./source-hash.ts";

/** Maximum size of a download, in bytes. */
const maxDownloadBytes = 4 * 1024 * 1024 * 1024;

interface Options {
  signal: AbortSignal;
  maxBytes?: number;
}

/**
 * Fetches a URL and verifies the content against the digest in the state.
 *
 * @param hash `undefined` accepts any content
 * @param onPiece receives the content piece by piece, before the whole is verified
 * @throws StateFailure when it cannot be fetched, is too large, or does not match the digest
 */
export async function download(
  url: string,
  hash: SourceHash | undefined,
  { signal, maxBytes = maxDownloadBytes }: Options,
  onPiece: (piece: Uint8Array) => void,
): Promise<void> {
  const verified = hash === undefined ? undefined : verifying(hash, url);
  let bytes = 0;
  for await (const piece of piecesOf(url, hash !== undefined, signal)) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new StateFailure(`${url} is larger than ${maxBytes / 1024 / 1024} MiB`);
    verified?.hash.update(piece);
    onPiece(piece);
  }
  verified?.end();
}

/**
 * Fetches a small file that nothing but its server vouches for.
 *
 * @throws StateFailure when it cannot be fetched or is too large
 */
export async function fetchBytes(url: string, options: Options): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  await download(url, undefined, options, (piece) => pieces.push(piece));
  return Buffer.concat(pieces);
}

/** @param anyServer whether the content may come from a server that does not prove who it is */
async function* piecesOf(url: string, anyServer: boolean, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    // An environment variable of the process could turn off verification.
    const response = await fetch(url, { signal, tls: { rejectUnauthorized: true } });
    // It must not lead from a server that proves who it is to one that does not.
    if (!anyServer && url.startsWith("https://") && !response.url.startsWith("https://")) {
      throw new StateFailure(
        `cannot fetch ${url}: it redirects to ${new URL(response.url).origin}, which is not https`,
      );
    }
    if (!response.ok)
      throw new StateFailure(`cannot fetch ${url}: the server returned status ${response.status}`);
    if (response.body !== null) yield* response.body;
  } catch (cause) {
    if (cause instanceof StateFailure || signal.aborted) throw cause;
    throw new StateFailure(`cannot fetch ${url}: ${describeError(cause)}`, {}, { cause });
  }
}
