export { type BusBinding, readReply, serveRoom } from "./bind.ts";
export { createStreams, type Streams } from "./streams.ts";
