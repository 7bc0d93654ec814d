import { joinDoors } from "../operation/door-table/mod.ts";
import { auditDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations of this room, each with its doors. */
export const auditOperations = joinDoors(operations, auditDoors);
