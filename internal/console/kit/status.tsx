import { Glyph } from "./glyph.tsx";
import { type Outcome, outcomeOf } from "./outcome.ts";

/** An outcome as glyph, word and color. */
export function Status({ word, outcome }: { word: string; outcome?: Outcome }) {
  const shown = outcome ?? outcomeOf(word);
  return (
    <span class="status" data-outcome={shown}>
      <Glyph outcome={shown} />
      {word}
    </span>
  );
}
