export { subjectsOfScopes } from "./grants.ts";
export { type RoomDeps, restRooms, rooms, served } from "./rooms.ts";
