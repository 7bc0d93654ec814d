export { parseRecoveryKeys } from "./recovery-keys.ts";
export {
  isSigned,
  parseSuccession,
  type SignedSuccession,
  type Succession,
  signSuccession,
} from "./statement.ts";
