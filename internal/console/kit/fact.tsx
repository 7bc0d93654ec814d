import type { ComponentChildren } from "preact";

/** An entry of a list of facts, `dl.facts`. One without a value is left out. */
export function Fact(props: {
  name: ComponentChildren;
  /** How the value is set. */
  as?: "mono" | "number" | "tags";
  children: ComponentChildren;
}) {
  const { name, as, children } = props;
  if (children === undefined || children === false) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd class={as}>{children}</dd>
    </>
  );
}
