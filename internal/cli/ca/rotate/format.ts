import { displayPeelId } from "../../../base/names/peel-id.ts";
import { formatFields, formatTable, type TableStyle } from "../../../program/command-line/mod.ts";
import type { TrustSurvey } from "./survey.ts";

/** Maximum number of listed peels. `--output json` lists all. */
const maxListed = 50;

/** The survey for people: the phase, the counts, the masters, and the peels that lack the next root. */
export function formatSurvey(
  head: string,
  { masters, peels, sites, lacking }: TrustSurvey,
  style: TableStyle,
): string {
  const counts = formatFields([
    ["Trust both roots", String(peels.both)],
    ["Trust the next only", String(peels.next_only)],
    ["Trust the current only", String(peels.current_only)],
    ["Do not report it", String(peels.unknown)],
  ]);
  const parts = [head, counts];
  if (masters.length > 0) {
    parts.push(
      formatTable(
        { MASTER: "text", PHASE: "word" },
        masters.map(({ name, phase }) => [name, phase]),
        style,
      ),
    );
  }
  if (sites.length > 0) {
    parts.push(
      formatTable(
        { "SITE WITHOUT THE NEXT ROOT": "text", WHY: "prose" },
        sites.map(({ site, reason }) => [site, reason]),
        style,
      ),
    );
  }
  if (lacking.length === 0) parts.push("No peel lacks the next root.");
  else {
    const shown = lacking.slice(0, maxListed);
    parts.push(
      formatTable(
        { "LACKS THE NEXT ROOT": "text", RUNS: "word", WHY: "prose" },
        shown.map(({ peel_id, alive, reason }) => [displayPeelId(peel_id), alive ? "yes" : "no", reason]),
        style,
      ),
    );
    if (lacking.length > shown.length)
      parts.push(`${lacking.length - shown.length} more; --output json lists all.`);
  }
  return parts.join("\n\n");
}
