export { guardAssets } from "./guard.ts";
export { watchRoom } from "./room.ts";
export { openStorage, provisionOnce, replicasOf, type Storage } from "./storage.ts";
