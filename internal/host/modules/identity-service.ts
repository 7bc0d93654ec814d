/** The credentials and keys of the running peel. */
export interface IdentityService {
  /**
   * Gets new bus credentials from the masters, and connects with them.
   *
   * @throws SvcError with the reason; the credentials in use then stay
   */
  renew(): Promise<IdentityState>;
  /** Replaces the key of this peel. @throws SvcError with the reason */
  rekey(): Promise<IdentityState>;
}

/** What the masters know this peel by. */
export interface IdentityState {
  /** The enrolled key, `U…`. */
  publicKey: string;
  /** When the bus credentials end, milliseconds since the Unix epoch; `undefined` when they do not. */
  expiresAt: number | undefined;
}
