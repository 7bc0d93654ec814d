export { compileTarget, type PeelTest, type PeelView } from "./evaluate.ts";
export {
  type ExpandedExpression,
  type Expression,
  matchersOf,
  type PeelMatcher,
  shownMatcher,
} from "./expression.ts";
export { createFactPacker, FactMap, type FactPacker, type FactValue } from "./fact-map.ts";
export { matchGlob, openSetIn } from "./glob.ts";
export { expandGroups, type Groups, groupsFile, readGroups } from "./groups.ts";
export { isGroupName, parseTarget, readTarget } from "./parse.ts";
export { compileSearch, createRegexes, type Regexes, type Search } from "./pattern.ts";
export { compileRegexes, usesRegexes } from "./regexes-of.ts";
export { topExpression, topSection, type Way } from "./top-file.ts";
export { labelsIn, namesSetting } from "./words.ts";
