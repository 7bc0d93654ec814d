import { useSignal } from "@preact/signals";
import type { App } from "../api/mod.ts";
import { TargetInput } from "./target-input.tsx";

/** A field that limits a page to the peels of a target: it counts as soon as it is one. */
export function TargetSearch(props: {
  app: App;
  id: string;
  label: string;
  placeholder: string;
  /** The target that counts when the page is shown. */
  target: string;
  onTarget(target: string): void;
}) {
  const { target, onTarget, ...field } = props;
  const typed = useSignal(target);
  return (
    <TargetInput
      {...field}
      value={typed.value}
      search
      onInput={(text) => {
        typed.value = text;
      }}
      onJudged={(text, wrong) => {
        if (wrong === undefined) onTarget(text.trim());
      }}
    />
  );
}
