import { sha256Hex } from "../../base/sha256.ts";
import type { Question } from "./question.ts";
import type { View } from "./subject.ts";

// What a compilation looks at next depends on nothing but the answers that it got before. So all compilations of the same
// files are one tree of questions, in which the answers of a peel lead to what is compiled for it.

/** Remembers what was compiled, by the answers to the questions that came up. */
export interface Memo<Value> {
  find(view: View): Value | undefined;
  /** @param questions in the order in which they came up */
  add(view: View, questions: readonly Question[], value: Value): void;
  /** How many were compiled. */
  readonly size: number;
}

interface Node<Value> {
  /** The question that leads on; absent at the end. */
  question?: Question;
  readonly next: Map<string, Node<Value>>;
  value?: Value;
}

const maxLength = 64;

/** @param max how many are remembered: where each peel is a kind of its own, they would fill the memory */
export function createMemo<Value>(max: number): Memo<Value> {
  let root: Node<Value> = { next: new Map() };
  let kept = 0;
  let size = 0;
  return {
    get size() {
      return size;
    },
    find(view) {
      let at: Node<Value> | undefined = root;
      while (at?.question !== undefined) at = at.next.get(answerOf(view, at.question));
      return at?.value;
    },
    add(view, questions, value) {
      if (kept >= max) {
        root = { next: new Map() };
        kept = 0;
      }
      let at = root;
      const left = new Map(questions.map((question) => [question.key, question]));
      for (;;) {
        const [next] = left.values();
        if (at.question === undefined && next !== undefined) at.question = next;
        if (at.question === undefined) break;
        left.delete(at.question.key);
        const answer = answerOf(view, at.question);
        const inner: Node<Value> = at.next.get(answer) ?? { next: new Map() };
        at.next.set(answer, inner);
        at = inner;
      }
      kept++;
      size++;
      at.value = value;
    },
  };
}

/** Long answers would be in memory once for each peel. */
function answerOf(view: View, question: Question): string {
  const answer = view.answer(question);
  return answer.length <= maxLength ? answer : sha256Hex(Buffer.from(answer));
}
