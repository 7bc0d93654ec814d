/** A stored value and the revision that a compare-and-swap needs. */
export interface Entry {
  key: string;
  value: Uint8Array;
  revision: number;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
}

/** A change seen by a watch; `value` is absent when the key was deleted. */
export type Change = Omit<Entry, "value"> & { value?: Uint8Array };

export interface Watch {
  /** Resolves when every value that existed at the start has been seen. */
  readonly ready: Promise<void>;
  /**
   * Resolves when everything that is stored now has been seen, so that the caller then knows every earlier
   * write.
   *
   * @throws SvcError `unavailable` when that takes longer than 5 s, `storage` when the bus cannot be asked: then
   *   what was seen may be incomplete, and nothing may be decided with it
   */
  caughtUp(): Promise<void>;
  stop(): void;
}
