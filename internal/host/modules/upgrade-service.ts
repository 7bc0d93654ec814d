import type { Plain } from "../../base/msgpack.ts";

/** The new executable of the peel, as named by a signed job. */
export interface UpgradeRequest {
  /** Hexadecimal SHA-256 of the binary's manifest. */
  manifest: string;
  /** Hexadecimal SHA-256 of the binary. */
  sha256: string;
  size: number;
  /** Version that the binary must report; empty when unknown. */
  version: string;
  /** Deadline to connect and accept jobs, in milliseconds. */
  readyWithinMs: number;
}

/** Replaces the running executable. */
export interface UpgradeService {
  /**
   * Fetches and verifies the binary, and asks the watchdog to switch to it. Returns only when nothing
   * changes; otherwise the peel ends, and the executable that runs afterwards sends the return of the job.
   *
   * @returns the result when the binary is already running
   * @throws SvcError `bad_request` for a binary that does not match the request or this host; `unavailable`
   *   without a watchdog or when the masters are not reachable; `conflict` while another upgrade is active;
   *   `storage` when it cannot be stored
   */
  apply(request: UpgradeRequest, signal: AbortSignal): Promise<Plain>;
}
