export { type Renewer, startRenewer } from "./renewer.ts";
export { isShort } from "./rules.ts";
