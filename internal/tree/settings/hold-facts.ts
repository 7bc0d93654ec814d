import type { Dependence } from "./dependence.ts";
import { splitAtTop } from "./expression.ts";

/** The text of a template in which a filter takes every value that may be text of a fact. Line numbers stay. */
export function holdFacts(text: string, { outputs }: Pick<Dependence, "outputs">): string {
  let held = "";
  let end = 0;
  for (const { tag, use, tokens } of outputs) {
    if (use === "plain" || use === "composed") continue;
    const [left, right] = tag.trims;
    const written = text.slice(tag.from + 2 + left.length, tag.to - 2 - right.length);
    const expression = withoutIndent(tokens, written);
    const argument = use === "told as data" ? "(true)" : "(false)";
    held += text.slice(end, tag.from);
    held += `{%${left} filter svc_hold${argument} %}{{ ${expression} }}{% endfilter ${right}%}`;
    end = tag.to;
  }
  return held + text.slice(end);
}

/** The value is not indented where it is put after the YAML was read. */
function withoutIndent(tokens: readonly string[], written: string): string {
  const parts = splitAtTop(tokens, "|");
  if (parts.length < 2 || parts.at(-1)?.[0] !== "indent") return written.trim();
  const lineEnds = "\n".repeat(written.split("\n").length - 1);
  return (
    parts
      .slice(0, -1)
      .map((part) => part.join(" "))
      .join(" | ") + lineEnds
  );
}
