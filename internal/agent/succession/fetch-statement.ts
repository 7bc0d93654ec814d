import { encodeBase64Url } from "../../base/base64.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { createTrust, exchange, type Rung, TrustError, type TrustOptions } from "../../identity/trust/mod.ts";
import { createMasterClient } from "../joining/mod.ts";

const timeoutMs = 15_000;
const maxBytes = 256 * 1024;

export interface FetchOptions {
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Whether a master is one of this peel's fleet: the trust of the peel verifies it, and it knows the peel's key. A
 * master that cannot be reached is not.
 *
 * @param key the peel's key, if it has one
 */
export async function satisfies(
  url: string,
  {
    rung,
    key,
    across,
    ...options
  }: FetchOptions & {
    rung: Rung;
    key: KeyPair | undefined;
    /** What counts in addition to the rung. */
    across: Pick<TrustOptions, "followed" | "across">;
  },
): Promise<boolean> {
  const trust = createTrust({
    // A peel that knows recovery keys has been in a fleet: a stranger at the first contact is not it.
    rung: rung.rung === 4 ? { ...rung, firstUse: false } : rung,
    storeAnchor: () => {},
    ...across,
    ...options,
  });
  const client = createMasterClient({ urls: [url], trust, attempts: 1, ...options });
  try {
    if ((await client.request("GET", "/api/v1/enroll/ca")).status !== 200) return false;
    if (key === undefined) return true;
    const proof = encodeBase64Url(key.sign(Buffer.from(key.publicKey, "latin1")));
    const { status } = await client.request("GET", `/api/v1/enroll/by-key/${key.publicKey}`, {
      headers: { Authorization: `Nkey ${key.publicKey}:${proof}` },
    });
    return status !== 401 && status !== 404;
  } catch (thrown) {
    options.signal.throwIfAborted();
    const level = thrown instanceof TrustError ? "warn" : "debug";
    options.log[level]("a master cannot be used", { url, reason: describeError(thrown) });
    return false;
  }
}

/**
 * Fetches the statement of a fleet without trusting the connection.
 *
 * @returns `undefined` when that fleet has none
 * @throws SvcError `unavailable`; errors of the network
 */
export async function fetchStatement(url: string, { clock, signal }: FetchOptions): Promise<unknown> {
  const { status, text } = await exchange({
    url: `${url}/api/v1/enroll/succession`,
    headers: { Accept: "application/json" },
    verify: "nobody",
    timeoutMs,
    maxBytes: maxBytes,
    clock,
    signal,
  });
  if (status === 404) return undefined;
  if (status !== 200) throw new SvcError("unavailable", `status ${status}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new SvcError("unavailable", "the answer is not JSON");
  }
}
