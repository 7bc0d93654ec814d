import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { hrefOf } from "./router.ts";

/**
 * The frame of every page: its title, what is next to it, what can be done, and the page itself.
 *
 * @param props.tall its table takes the height that the window leaves
 */
export function Page(props: {
  title: string;
  /** What the tab of the browser says, where its title alone would not tell it from others. */
  tab?: string;
  /** The page that has it in a list. */
  up?: { to: string; words: string };
  /** The title is a name of code. */
  mono?: boolean;
  beside?: ComponentChildren;
  actions?: ComponentChildren;
  tall?: boolean;
  children?: ComponentChildren;
}) {
  const { title, tab = title, up, mono, beside, actions, tall, children } = props;
  useTab(tab);
  return (
    <div class={tall ? "page tall" : "page"}>
      <header class="page-head">
        {up !== undefined && (
          <a class="up" href={hrefOf(up.to)}>
            <span aria-hidden="true">‹ </span>
            {up.words}
          </a>
        )}
        <h1 class={mono ? "mono" : undefined}>{title}</h1>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** Names the tab of the browser after what it shows, in the same moment in which it shows it. */
export function useTab(name: string | undefined): void {
  useLayoutEffect(() => {
    if (name !== undefined) document.title = `${name} · svc`;
  }, [name]);
}

/** How many items a page shows of a list, which is not known while it is read. */
export function Count(props: { count: number | undefined; more?: boolean | undefined; word?: string }) {
  const { count, more, word = "shown" } = props;
  return (
    <span class="muted number" role="status">
      {count === undefined ? "Reading …" : `${count.toLocaleString("en")}${more ? "+" : ""} ${word}`}
    </span>
  );
}
