// It runs when the console is bundled: only what it returns comes into the browser.
import { documentedFunctions } from "./documented.ts" with { type: "macro" };

/** The functions of peels of this version, in a file of the bundle that only forms of calls load. */
export const catalog = documentedFunctions();
