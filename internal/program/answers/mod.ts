export { indent, textLines } from "./plain-lines.ts";
export { type ShownStates, seconds, showStates } from "./show-states.ts";
export { plainOrOutput, type ShownValue, showValue } from "./show-value.ts";
