export { type Audience, initNatsAuth, newNatsAuth } from "./init.ts";
export { lintCredentials } from "./lint.ts";
export { encodePeelsAccount } from "./peels-account.ts";
export { lackingGrants, newCredentials } from "./users.ts";
