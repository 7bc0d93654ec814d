import * as v from "valibot";

/** The output of a feed. */
export interface FeedSink {
  /** @param id names the place behind it, where the feed can continue for a reader that was cut off */
  send(event: string, data: unknown, id?: string): void;
  /** Tells the reader the place where it is, when nothing was sent for a while. */
  mark(id: string): void;
  /** Tells the reader that what feeds it answers, so that silence means that nothing happens. */
  beat(): void;
  /** Whether the reader takes more without a wait. */
  hasRoom(): boolean;
  /**
   * Waits while the reader takes nothing.
   *
   * @throws SvcError `unavailable` when that lasts too long; the reason of the signal
   */
  ready(signal: AbortSignal): Promise<void>;
  /** Ends the feed. @param reason why it broke off; absent at its end */
  close(reason?: string): void;
}

/** A streaming answer of an operation: events until one side ends it. */
export interface Feed {
  /** Starts it; the function it returns stops it, and is called exactly once. */
  start(sink: FeedSink): () => void;
}

export const feed = v.custom<Feed>((value) => typeof value === "object" && value !== null);
