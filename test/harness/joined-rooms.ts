import { tokenOperations } from "../../internal/fleet/tokens/joined.ts";

/** The rooms whose operations stand in a table with their doors. */
export const joinedRooms = [tokenOperations];
