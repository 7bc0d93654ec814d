import type { Outcome } from "./outcome.ts";

// Drawn and not written: the fonts of many systems lack some of these signs.
const shapes: Readonly<Record<Outcome, string>> = {
  ok: "M3 8.5l3.5 3.5L13 4.5",
  changed: "M8 4.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7z",
  failed: "M4 4l8 8M12 4l-8 8",
  offline: "M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z",
  timeout: "M4 2.5h8M4 13.5h8M5 2.5c0 3 6 8 6 11M11 2.5c0 3-6 8-6 11",
  running: "M8 3a5 5 0 1 0 5 5",
  skipped: "M3.5 8h9",
  cancelled: "M8 2.8a5.2 5.2 0 1 0 0 10.4a5.2 5.2 0 1 0 0-10.4zM4.4 4.4l7.2 7.2",
  busy: "M3 4.5h10M3 8h10M3 11.5h10",
  lost: "M5.8 5.8a2.3 2.3 0 1 1 3.4 2c-.8.4-1.2.9-1.2 1.7M8 12.4v.2",
};

/** The sign of an outcome: it reads without its color, and screen readers skip it, because they read the word next to it. */
export function Glyph({ outcome }: { outcome: Outcome }) {
  return (
    <svg class="glyph" viewBox="0 0 16 16" data-filled={outcome === "changed"} aria-hidden="true">
      <path d={shapes[outcome]} />
    </svg>
  );
}
