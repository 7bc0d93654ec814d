import { joinDoors } from "../operation/door-table/mod.ts";
import { tokenDoors } from "./doors.ts";
import * as operations from "./operations.ts";

/** The operations on tokens of the REST interface, each with its doors. */
export const tokenOperations = joinDoors(operations, tokenDoors);
