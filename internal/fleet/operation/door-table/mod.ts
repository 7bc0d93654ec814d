export {
  type AuthRule,
  type BusLines,
  type DepsOf,
  type Door,
  type Doors,
  type Hints,
  hintFor,
  joinDoors,
  type RestLines,
  type Tag,
} from "./door-table.ts";
