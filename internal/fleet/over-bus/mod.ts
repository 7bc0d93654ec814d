export { type BusBinding, type BusDoor, readReply, serveRoom, signedOrNot } from "./bind.ts";
