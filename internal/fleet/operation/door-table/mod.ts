export {
  type AuthRule,
  type BusLines,
  type DepsOf,
  type Door,
  type Doors,
  type Hints,
  hintFor,
  type JoinStep,
  joinDoors,
  type RawBody,
  type RestLines,
  type Tag,
} from "./door-table.ts";
