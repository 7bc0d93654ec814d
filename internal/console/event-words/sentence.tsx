import { Glyph } from "../kit/glyph.tsx";
import { hrefOf } from "../kit/router.ts";
import type { EventWords } from "./words.ts";

/** What happened, with its objects as links. */
export const EventSentence = ({ words: { outcome, parts } }: { words: EventWords }) => (
  <span class="sentence">
    <span class="status" data-outcome={outcome}>
      <Glyph outcome={outcome} />
    </span>
    {parts.map((part, at) =>
      typeof part === "string" ? (
        part
      ) : (
        <a key={at} href={hrefOf(part.to)}>
          {part.text}
        </a>
      ),
    )}
  </span>
);
