export { decide } from "./decide.ts";
export { decideAll, reportOf } from "./decide-all.ts";
export { DecisionOutlook } from "./decision-outlook.tsx";
export { filesOf, useOutlook } from "./outlook.ts";
export { OutlookNotes } from "./outlook-notes.tsx";
