import type { App } from "../api/mod.ts";
import { TargetInput } from "../targets/mod.ts";
import { TargetPreview } from "./target-preview.tsx";
import type { TypedTarget } from "./use-target.ts";

/** The field of a target, and which peels it means while it is typed. */
export function TargetFields(props: { app: App; id: string; target: TypedTarget; onSubmit(): void }) {
  const { app, id, onSubmit } = props;
  const { text, wrong, preview } = props.target;
  return (
    <>
      <TargetInput
        app={app}
        id={id}
        label="Target"
        value={text.value}
        onInput={(typed) => {
          text.value = typed;
          wrong.value = undefined;
        }}
        onJudged={(_, said) => {
          wrong.value = said;
        }}
        onSubmit={onSubmit}
      />
      <TargetPreview preview={preview} />
    </>
  );
}
