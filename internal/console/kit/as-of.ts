import type { ReadonlySignal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";

interface AsOfProps {
  /** Since when it may not be true any more, milliseconds since the Unix epoch; `undefined` while it is true. */
  since: ReadonlySignal<number | undefined>;
  children: ComponentChildren;
}

/** What its content shows was true at a time, and may be old. */
export class AsOf extends Component<AsOfProps> {
  override getChildContext() {
    return { oldSince: this.props.since };
  }
  override render() {
    return this.props.children;
  }
}

/** Whether what is shown may be old. @param context of the component that shows it */
export const isOld = (context: unknown): boolean =>
  (Object(context) as { oldSince?: AsOfProps["since"] }).oldSince?.value !== undefined;
