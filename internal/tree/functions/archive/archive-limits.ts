import { formatByteSize, gibibyte, parseByteSize } from "../../../base/byte-size.ts";
import type { OpenedDirectory } from "../../../base/files/opened-directory.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { walk } from "../file/walk.ts";

/** How much an archive may contain. */
export interface ArchiveLimits {
  bytes: number;
  /** Directories count. */
  files: number;
}

const defaults: ArchiveLimits = { bytes: 2 * gibibyte, files: 100_000 };
const measureMs = 250;
/** The share of the time that measuring may take. */
const share = 1 / 8;

/** @throws SvcError `bad_request` when `max_bytes` is not a size */
export function limitsOf(maxBytes: Plain | undefined, maxFiles: number | undefined): ArchiveLimits {
  return {
    bytes: maxBytes === undefined ? defaults.bytes : parseByteSize(String(maxBytes)),
    files: maxFiles ?? defaults.files,
  };
}

/** What makes an extraction stop. */
class BeyondLimits extends StateFailure {}

/** @throws StateFailure beyond the limits */
export function checkLimits({ bytes, files }: ArchiveLimits, found: ArchiveLimits): void {
  if (found.files > files) {
    throw new BeyondLimits(
      `the archive is not extracted: it has more than ${files} files and directories; raise max_files to allow more`,
    );
  }
  if (found.bytes > bytes) {
    throw new BeyondLimits(
      `the archive is not extracted: its files have more than ${formatByteSize(bytes)}; raise max_bytes to allow more`,
    );
  }
}

/**
 * Runs what extracts into a directory, and stops it soon after the files there exceed the limits: what an archive
 * says of the size of its files is not always true, and the disk would be full before all of it is extracted.
 *
 * @throws StateFailure beyond the limits
 */
export async function withinLimits(
  limits: ArchiveLimits,
  directory: OpenedDirectory,
  context: StateContext,
  extract: (context: StateContext) => Promise<void>,
): Promise<void> {
  const { clock, signal } = context;
  const stopping = new AbortController();
  let restMs = 0;
  const timer = clock.every(measureMs, () => {
    restMs -= measureMs;
    if (restMs > 0) return;
    const began = clock.monotonic();
    try {
      checkLimits(limits, measure(directory, limits));
    } catch (thrown) {
      // A file that was renamed meanwhile does not stop it: all is measured again at the end.
      if (thrown instanceof BeyondLimits) stopping.abort(thrown);
    }
    restMs = (clock.monotonic() - began) / share;
  });
  try {
    await extract({ ...context, signal: AbortSignal.any([signal, stopping.signal]) });
  } finally {
    timer.cancel();
  }
}

function measure(directory: OpenedDirectory, limits: ArchiveLimits): ArchiveLimits {
  const found = { bytes: 0, files: 0 };
  for (const { stats } of walk(directory, undefined)) {
    found.files++;
    if (stats.isFile()) found.bytes += stats.size;
    if (found.files > limits.files || found.bytes > limits.bytes) break;
  }
  return found;
}
