export { importSalt } from "./import-salt.ts";
export { checkedSentence } from "./report.ts";
