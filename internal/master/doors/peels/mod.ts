export { serveFetch } from "./fetch.ts";
export { serveHello } from "./hello.ts";
export { relayToStorage } from "./relay.ts";
export { serveRenewals } from "./renew.ts";
