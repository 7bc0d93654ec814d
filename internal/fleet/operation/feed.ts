import * as v from "valibot";

/** The output of a feed. */
export interface FeedSink {
  send(event: string, data: unknown): void;
  /** Ends the feed. */
  close(): void;
}

/** A streaming answer of an operation: events until one side ends it. */
export interface Feed {
  /** Starts it; the function it returns stops it, and is called exactly once. */
  start(sink: FeedSink): () => void;
}

export const feed = v.custom<Feed>((value) => typeof value === "object" && value !== null);
