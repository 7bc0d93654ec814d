import { joinDoors } from "../operation/door-table/mod.ts";
import { planDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const planOperations = joinDoors(operations, planDoors);
