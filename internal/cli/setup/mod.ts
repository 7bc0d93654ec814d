export { initFleet, type Setup } from "./init.ts";
export { masterUnit, peelUnit } from "./units.ts";
