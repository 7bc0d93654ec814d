import { joinDoors } from "../operation/door-table/mod.ts";
import { jobDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const jobOperations = joinDoors(operations, jobDoors);
