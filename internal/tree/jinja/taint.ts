import { Fault } from "./values/mod.ts";

// Which values may have text of a source that must not make structure: in the settings of a peel, text of its facts.
// Whatever an evaluation reads of such a source taints its result, and each name that the result is bound to. Where a
// tainted value is written, a word takes its place. Text with such words is composed text: it may be written as it is,
// and used for nothing else, because its words would be taken apart.

/** What makes words of tainted texts. */
export interface Guard {
  /** @param isData whether a filter wrote the text as one YAML value @returns the word for the text */
  hold(text: string, isData: boolean): string;
  /** Whether there is such a word in a text. */
  isHeld(text: string): boolean;
  /** Whether tainted values may not choose among the texts of a template either. */
  readonly refusesChoices: boolean;
}

const tainted = 1;
const composed = 2;
const secret = 4;

/** What the evaluation of one rendering has used. */
export class Taint {
  /** Since the statement, argument or binding began, in bits. What is bound to a name keeps them. */
  used = 0;
  /** Whether a secret was written. */
  private hasWritten = false;
  /** The composed texts. */
  private readonly texts = new Set<string>();
  private readonly guard: Guard | undefined;

  private readonly onSecretChoice: (() => void) | undefined;

  /**
   * @param guard absent where everything may be written as it is
   * @param onSecretChoice called when a secret decides what is written
   */
  constructor(guard?: Guard, onSecretChoice?: () => void) {
    this.guard = guard;
    this.onSecretChoice = onSecretChoice;
  }

  get isGuarded(): boolean {
    return this.guard !== undefined;
  }

  get isTainted(): boolean {
    return (this.used & tainted) !== 0;
  }

  /** Something was read that taints. */
  add(): void {
    this.used |= tainted;
  }

  /** A secret was read. */
  addSecret(): void {
    this.used |= secret;
  }

  /** Whether there is a secret is known to all; what it is decides nothing. @param before what was used before */
  forgetSecret(before: number): void {
    this.used = (this.used & ~secret) | (before & secret);
  }

  /** A secret decides something. */
  decide(): void {
    if ((this.used & secret) !== 0) this.onSecretChoice?.();
  }

  /** Statements begin to write a text. @returns ends it; gets the text */
  begin(): (text: string) => void {
    const { used: before, hasWritten } = this;
    this.used = 0;
    this.hasWritten = false;
    return (text) => {
      this.compose(text, before);
      // A text with a secret in it is one, and what it is written to has it as well.
      if (this.hasWritten) this.used |= secret;
      this.hasWritten ||= hasWritten;
    };
  }

  private compose(text: string, before: number): void {
    this.used = before;
    if (this.guard?.isHeld(text) !== true) return;
    this.texts.add(text);
    this.used |= composed;
  }

  isComposed(text: unknown): boolean {
    return typeof text === "string" && this.texts.has(text);
  }

  /** A composed text was changed, and its words were not. */
  recompose(text: unknown): void {
    if (typeof text === "string") this.texts.add(text);
  }

  /** What is written of the text of a value. @throws Fault */
  written(text: string, isData: boolean): string {
    if ((this.used & secret) !== 0) this.hasWritten = true;
    const { guard } = this;
    if (guard === undefined) return text;
    const isMade = (this.used & composed) !== 0 || guard.isHeld(text);
    if (this.isTainted && (this.used & composed) === 0) return guard.hold(text, isData);
    if (isMade && (this.isTainted || !this.texts.has(text))) throw misused("this expression");
    return text;
  }

  /** What was used chooses, and is not in the value. @throws Fault */
  choose(what: string): void {
    if ((this.used & composed) !== 0) throw misused(what);
    this.decide();
    if (this.isTainted && this.guard?.refusesChoices === true) {
      throw new Fault(`${what} uses facts, which settings.strict_facts refuses`, { isFinal: true });
    }
  }

  /** The same in an expression. @param before what was used before the part that chooses */
  chooseWithin(before: number): void {
    this.choose("a condition");
    this.used = before;
  }

  /** What was used names a file. @throws Fault */
  nameFile(tag: string): void {
    if (this.used !== 0 && this.isGuarded) {
      throw new Fault(`${tag}: the name of a file may not depend on facts`, { isFinal: true });
    }
  }
}

function misused(what: string): Fault {
  return new Fault(`${what} uses text that contains facts: use the fact itself`, { isFinal: true });
}
