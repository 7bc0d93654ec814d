export { decide } from "./decide.ts";
export { DecisionOutlook } from "./decision-outlook.tsx";
export { filesOf, useOutlook } from "./outlook.ts";
export { OutlookNotes } from "./outlook-notes.tsx";
