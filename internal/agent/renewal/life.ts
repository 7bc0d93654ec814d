import type { Clock } from "../../base/clock.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";

/** What is known of bus credentials without asking a server. */
export interface Held {
  /** The `U…` key. */
  publicKey: string;
  /** Milliseconds since the Unix epoch. */
  issuedAt: number;
  /** Milliseconds since the Unix epoch; absent when they do not end. */
  expiresAt?: number;
  /** Subjects that they may publish on. */
  publishes: readonly string[];
}

/** @throws SvcError `bad_request` when the text is not a credentials file */
export function readHeld(credentials: string): Held {
  const { iat, exp, sub, nats } = readClaims(parseCredentials(credentials).jwt);
  const { allow } = (nats.pub ?? {}) as { allow?: unknown };
  return {
    publicKey: sub,
    issuedAt: iat * 1000,
    ...(exp === undefined ? {} : { expiresAt: exp * 1000 }),
    publishes: Array.isArray(allow) ? allow.filter((item) => typeof item === "string") : [],
  };
}

/** The lifetime of the credentials in use. */
export interface Life {
  /** The whole of it in milliseconds; infinite when they do not end. */
  readonly lengthMs: number;
  readonly elapsedMs: number;
  /** Not above 0 when they have ended. */
  readonly leftMs: number;
}

/**
 * Measures how much of a lifetime is over. What passed before this process began is known from the clock of the
 * host alone. From then on whichever of the two clocks went further counts: the monotonic one stands still while
 * a host sleeps, and the other one can jump. A jump is thus seen once, and not again after the next issue.
 *
 * @param isFresh whether the credentials were issued at this moment, whatever the clock of this host says
 */
export function startLife(held: Pick<Held, "issuedAt" | "expiresAt">, clock: Clock, isFresh: boolean): Life {
  const { issuedAt, expiresAt = Number.POSITIVE_INFINITY } = held;
  const lengthMs = expiresAt - issuedAt;
  const wall = clock.now();
  const monotonic = clock.monotonic();
  const before = isFresh ? 0 : Math.max(0, wall - issuedAt);
  const elapsed = () => before + Math.max(0, clock.now() - wall, clock.monotonic() - monotonic);
  return {
    lengthMs,
    get elapsedMs() {
      return elapsed();
    },
    get leftMs() {
      return lengthMs - elapsed();
    },
  };
}
