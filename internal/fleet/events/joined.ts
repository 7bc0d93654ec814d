import { joinDoors } from "../operation/door-table/mod.ts";
import { eventDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const eventOperations = joinDoors(operations, eventDoors);
