export { type BusBinding, readReplies, readReply, serveRoom } from "./bind.ts";
export { followFeed } from "./follow-feed.ts";
export { createStreams } from "./streams.ts";
