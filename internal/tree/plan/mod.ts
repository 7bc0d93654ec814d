export { comparePeel, type Outcome } from "./compare-peel.ts";
export { createOrders, type Orders, readOnce } from "./compile-orders.ts";
export { createManySettings, type ManySettings } from "./compile-settings.ts";
export { createGrouping, type Group } from "./groups.ts";
export { createInterning } from "./interning.ts";
export { isKnown, type Order } from "./order.ts";
export type { Subject } from "./subject.ts";
export { unknownHost } from "./unknown-host.ts";
export type { Ground } from "./why.ts";
