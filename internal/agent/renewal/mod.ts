export { type Keeper, startKeeper } from "./keeper.ts";
export { isShort } from "./rules.ts";
