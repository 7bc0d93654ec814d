import { isOld } from "./as-of.ts";
import { Glyph } from "./glyph.tsx";
import { type Outcome, outcomeOf } from "./outcome.ts";

/** Words that claim something about this moment: on an old page they were true once. */
const momentary: ReadonlySet<string> = new Set(["alive", "ready", "running", "degraded"]);

/** An outcome as glyph, word and color. */
export function Status({ word, outcome }: { word: string; outcome?: Outcome }, context?: unknown) {
  const wasTrue = isOld(context) && momentary.has(word);
  const shown = wasTrue ? "lost" : (outcome ?? outcomeOf(word));
  return (
    <span class="status" data-outcome={shown}>
      <Glyph outcome={shown} />
      {wasTrue ? `was ${word}` : word}
    </span>
  );
}
