export { type EventGroup, groupEvents } from "./group.ts";
export { EventSentence } from "./sentence.tsx";
