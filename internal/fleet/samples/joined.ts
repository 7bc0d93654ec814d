import { joinDoors } from "../operation/door-table/mod.ts";
import { sampleDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const sampleOperations = joinDoors(operations, sampleDoors);
