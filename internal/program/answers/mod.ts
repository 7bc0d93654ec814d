export { indent, plainLines, textLines } from "./plain-lines.ts";
export {
  countsOf,
  readStates,
  type ShownStates,
  type States,
  seconds,
  showStates,
  standingOf,
} from "./show-states.ts";
export { type CommandOutput, outputOf, plainOrOutput, type ShownValue, showValue } from "./show-value.ts";
