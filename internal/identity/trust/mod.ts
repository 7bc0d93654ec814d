export { type Anchor, createTrust, type Trust, type TrustOptions } from "./anchor.ts";
export { exchange, openExchange, startTimeout } from "./exchange.ts";
export { chooseRung, type Rung } from "./ladder.ts";
export { leadTo } from "./lead.ts";
export { nameOfRung, TrustError } from "./mismatch.ts";
export { pinnedRoots, rootsOf, spkiPin, splitPem } from "./pin.ts";
