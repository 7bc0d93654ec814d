export { type Anchor, createTrust, type Trust } from "./anchor.ts";
export { exchange, openExchange, startTimeout } from "./exchange.ts";
export { chooseRung, type Rung } from "./ladder.ts";
export { TrustError } from "./mismatch.ts";
export { spkiPin } from "./pin.ts";
