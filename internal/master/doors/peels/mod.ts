export { serveFetch } from "./fetch.ts";
export { serveHello } from "./hello.ts";
export { serveRenewals } from "./renew.ts";
