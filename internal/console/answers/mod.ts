export { Answer } from "./answer.tsx";
export { answerLine } from "./answer-line.ts";
export { StateCard } from "./state-card.tsx";
