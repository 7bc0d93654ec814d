import { describeError } from "../../base/errors.ts";
import { StateFailure } from "../function/mod.ts";
import { type SourceHash, verifying } from "./source-hash.ts";

/** Maximum size of a download, in bytes. */
const maxDownloadBytes = 4 * 1024 * 1024 * 1024;

/**
 * Fetches a URL and verifies the content against the digest in the state.
 *
 * @param onPiece receives the content piece by piece, before the whole is verified
 * @throws StateFailure when it cannot be fetched, is too large, or does not match the digest
 */
export async function download(
  url: string,
  hash: SourceHash,
  { signal, maxBytes = maxDownloadBytes }: { signal: AbortSignal; maxBytes?: number },
  onPiece: (piece: Uint8Array) => void,
): Promise<void> {
  const { hash: running, end } = verifying(hash, url);
  let bytes = 0;
  for await (const piece of piecesOf(url, signal)) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new StateFailure(`${url} is larger than ${maxBytes / 1024 / 1024} MiB`);
    running.update(piece);
    onPiece(piece);
  }
  end();
}

async function* piecesOf(url: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    // An environment variable of the process could turn off verification.
    const response = await fetch(url, { signal, tls: { rejectUnauthorized: true } });
    if (!response.ok)
      throw new StateFailure(`cannot fetch ${url}: the server returned status ${response.status}`);
    if (response.body !== null) yield* response.body;
  } catch (cause) {
    if (cause instanceof StateFailure || signal.aborted) throw cause;
    throw new StateFailure(`cannot fetch ${url}: ${describeError(cause)}`, {}, { cause });
  }
}
