import { joinDoors } from "../operation/door-table/mod.ts";
import { releaseDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const releaseOperations = joinDoors(operations, releaseDoors);
