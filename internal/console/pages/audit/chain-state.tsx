import { Status } from "../../kit/status.tsx";
import type { AuditEntry } from "./entry.ts";
import { judgeEntries } from "./whole.ts";

/** Whether the entries that are shown are whole. @param quiet says nothing while they are */
export function ChainState(props: { entries: readonly AuditEntry[]; filtered: boolean; quiet: boolean }) {
  const { entries, filtered, quiet } = props;
  const { forged, gaps } = judgeEntries(entries, { filtered });
  const isWhole = forged.length === 0 && gaps.length === 0;
  if (isWhole && quiet) return null;
  return (
    <section class={isWhole ? "card" : "card notice failed"} aria-label="Entries shown">
      <div class="body stack">
        <p>
          <Status word={isWhole ? "signatures valid" : "not whole"} outcome={isWhole ? "ok" : "failed"} />{" "}
          <span class="muted">
            {isWhole &&
              `Masters of this fleet signed all ${entries.length.toLocaleString("en")} entries shown${filtered ? "" : ", and no number is missing"}.`}
            {forged.length > 0 && `No master of this fleet signed ${forged.slice(0, 10).join(", ")}. `}
            {gaps.length > 0 && `Missing: ${gaps.slice(0, 10).join(", ")}.`}
          </span>
        </p>
      </div>
    </section>
  );
}
