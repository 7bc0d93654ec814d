import type { ComponentChildren } from "preact";

/**
 * The frame of every page: its title, what is next to it, what can be done, and the page itself.
 *
 * @param props.tall its table takes the height that the window leaves
 */
export function Page(props: {
  title: ComponentChildren;
  /** The title is a name of code. */
  mono?: boolean;
  beside?: ComponentChildren;
  actions?: ComponentChildren;
  tall?: boolean;
  children?: ComponentChildren;
}) {
  const { title, mono, beside, actions, tall, children } = props;
  return (
    <div class={tall ? "page tall" : "page"}>
      <header class="page-head">
        <h1 class={mono ? "mono" : undefined}>{title}</h1>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
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
