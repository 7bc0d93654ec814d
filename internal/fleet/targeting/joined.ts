import { joinDoors } from "../operation/door-table/mod.ts";
import { targetDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const targetOperations = joinDoors(operations, targetDoors);
