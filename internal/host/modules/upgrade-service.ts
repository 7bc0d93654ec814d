import type { Plain } from "../../base/msgpack.ts";

/** Another executable for the peel, as a signed job names it. */
export interface UpgradeRequest {
  /** Hexadecimal SHA-256 of the binary's manifest. */
  manifest: string;
  /** Hexadecimal SHA-256 of the binary. */
  sha256: string;
  size: number;
  /** What the binary is to say of itself; empty when nobody knows. */
  version: string;
  /** How long it may take until it is connected and takes jobs, milliseconds. */
  readyWithinMs: number;
}

/** Puts another executable in the place of the running one. */
export interface UpgradeService {
  /**
   * Fetches the binary, verifies it, and has the watchdog change over to it. It comes back only when nothing
   * changes: otherwise the peel ends, and whichever executable runs afterwards sends the return of the job.
   *
   * @returns what is told when the binary runs already
   * @throws SvcError `bad_request` for a binary that is not what the request says or not for this host;
   *   `unavailable` without a watchdog or when the masters cannot be asked; `conflict` while another upgrade is
   *   under way; `storage` when it cannot be kept
   */
  apply(request: UpgradeRequest, signal: AbortSignal): Promise<Plain>;
}
