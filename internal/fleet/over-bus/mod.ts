export { type BusBinding, readReply, serveRoom } from "./bind.ts";
