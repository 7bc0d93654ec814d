export { carriedServer } from "./carried.ts";
export { type BusServer, startBusServer } from "./supervise.ts";
