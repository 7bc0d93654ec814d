import { Glyph } from "./glyph.tsx";
import { useIsOld } from "./old.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";

/** Words that claim something about this moment: on an old page they were true once. */
const momentary = new Set(["alive", "ready", "running", "degraded"]);

/** An outcome as glyph, word and color. */
export function Status({ word, outcome }: { word: string; outcome?: Outcome }) {
  const isOld = useIsOld() && momentary.has(word);
  const shown = isOld ? "lost" : (outcome ?? outcomeOf(word));
  return (
    <span class="status" data-outcome={shown}>
      <Glyph outcome={shown} />
      {isOld ? `was ${word}` : word}
    </span>
  );
}
