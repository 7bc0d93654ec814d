import { Fault, type World } from "../jinja/values/mod.ts";

// What is unknown can be anything. A check renders a file for a few assumptions, which are as different as files make
// a difference between: what fails for all of them does not fail because of what is unknown.

/** One assumption of what is unknown. */
export interface Assumption {
  truth: boolean;
  /** Whether a word is written for it; nothing otherwise. */
  isWritten: boolean;
}

/** A file without its conditional parts, and with them; each with words for what is unknown, and without. */
export const assumptions = {
  bare: { truth: false, isWritten: true },
  full: { truth: true, isWritten: true },
  bareEmpty: { truth: false, isWritten: false },
  fullEmpty: { truth: true, isWritten: false },
} as const satisfies Readonly<Record<string, Assumption>>;

/** A letter of nobody: texts of files have it in no word. */
const mark = "\ue6a1";

/** Some filters write the letter as an escape. */
export const isUnknownText = (text: string): boolean => unknownLetter.test(text);

/** A pattern for a name of which a part is unknown. */
export const globOf = (name: string): string => name.replaceAll(unknownWord, "*");

/** A message that repeats a text of which a part is unknown. */
export const withoutWords = (message: string): string => message.replaceAll(unknownWord, "…");

const unknownLetter = /\ue6a1|\\ue6a1/i;
const unknownWord = /u(?:\ue6a1|\\ue6a1)\d+/gi;

/** Each word is another one, as no two unknown values need to be equal. */
export function worldOf({ truth, isWritten }: Assumption): World {
  let words = 0;
  const world: World = {
    truth,
    isTouched: false,
    isIn: isUnknownText,
    word() {
      world.isTouched = true;
      return isWritten ? `u${mark}${++words}` : "";
    },
    refuse() {
      world.isTouched = true;
      throw new Fault("not known before it runs");
    },
  };
  return world;
}
