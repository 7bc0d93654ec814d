import type * as v from "valibot";
import { rooms } from "../../internal/doors/rooms/rooms.ts";
import type { BusLines } from "../../internal/fleet/operation/door-table/door-table.ts";
import type { Operation } from "../../internal/fleet/operation/operation.ts";

export type AnyOperation = Operation<never, never, v.GenericSchema>;

export interface JoinedDoor {
  id: string;
  operation: AnyOperation;
  rest?: object;
  bus?: BusLines;
}

/** Every operation with its doors, from the tables of the rooms. */
export const joinedDoors = Object.values(rooms).flatMap(
  (room) => Object.values(room) as unknown as JoinedDoor[],
);

/** The operation of this id in the description, with its doors. */
export function doorNamed(id: string): JoinedDoor {
  const found = joinedDoors.find((one) => one.id === id);
  if (found === undefined) throw new Error(`${id} is in no table of doors`);
  return found;
}
