export { serveFetch } from "./fetch.ts";
export { fromPeels, passOnProgress } from "./from-peels.ts";
export { serveHello } from "./hello.ts";
export { relayToStorage } from "./relay.ts";
export { serveRenewals } from "./renew.ts";
