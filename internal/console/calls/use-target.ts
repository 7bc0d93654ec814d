import { type Signal, useSignal } from "@preact/signals";
import type { App } from "../api/mod.ts";
import { type Preview, usePreview } from "./use-preview.ts";

/** A target as it is typed, and which peels it means. */
export interface TypedTarget {
  text: Signal<string>;
  /** What the parser says of it. */
  wrong: Signal<string | undefined>;
  /** Without blanks around it. */
  wanted: string;
  /** Which peels the last target that was resolved means. */
  preview: Preview | undefined;
  /** Why it cannot be used yet, in a sentence; empty when it can. */
  lacking(): string;
}

/** @param first target that is filled in */
export function useTarget(app: App, first = ""): TypedTarget {
  const text = useSignal(first);
  const wrong = useSignal<string | undefined>(undefined);
  const wanted = text.value.trim();
  const preview = usePreview(app, wanted, wrong.value);
  return {
    ...{ text, wrong, wanted, preview },
    lacking() {
      if (wanted === "") return "Say on which peels: type a target.";
      if (wrong.value !== undefined) return `Target: ${wrong.value}`;
      if (preview?.problem !== undefined) return preview.problem;
      if (preview?.target !== wanted) return "Wait until the target is resolved.";
      return preview.total === 0 ? "The target means no peel." : "";
    },
  };
}
