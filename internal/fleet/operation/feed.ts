import * as v from "valibot";

/** Where a feed writes to. */
export interface FeedSink {
  send(event: string, data: unknown): void;
  /** Ends the feed. */
  close(): void;
}

/** What an operation answers that goes on: events until one side ends it. */
export interface Feed {
  /** Starts it; the function it returns stops it, and is called exactly once. */
  start(sink: FeedSink): () => void;
}

export const feed = v.custom<Feed>((value) => typeof value === "object" && value !== null);
