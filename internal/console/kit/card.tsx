import type { ComponentChildren } from "preact";

/**
 * A part of a page, with a border and a name.
 *
 * @param props.id of its title, which then is its name
 * @param props.label its name where no title is, or the title is more than text
 */
export function Card(props: {
  id?: string;
  title?: ComponentChildren;
  label?: string;
  /** In its head, behind the title. */
  beside?: ComponentChildren;
  /** What its content is: a list of facts, or what stands below each other. */
  body?: "facts" | "stack" | "plain";
  /** It takes the whole width of a grid. */
  wide?: boolean;
  children?: ComponentChildren;
}) {
  const { id, title, label, beside, body, wide, children } = props;
  const name = label ?? (typeof title === "string" ? title : undefined);
  return (
    <section
      class={wide ? "card wide" : "card"}
      aria-labelledby={id}
      aria-label={id === undefined ? name : undefined}
    >
      {title !== undefined && (
        <header>
          <h2 id={id}>{title}</h2>
          {beside}
        </header>
      )}
      {body === undefined ? children : <Body as={body}>{children}</Body>}
    </section>
  );
}

function Body({ as, children }: { as: "facts" | "stack" | "plain"; children: ComponentChildren }) {
  if (as === "facts") return <dl class="body facts">{children}</dl>;
  return <div class={as === "stack" ? "body stack" : "body"}>{children}</div>;
}
