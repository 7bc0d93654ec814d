export { type RoomDeps, restRooms, rooms, served } from "./rooms.ts";
