import type { ComponentChildren } from "preact";

/**
 * An entry of a list of facts, `dl.facts`. One without a value is left out.
 *
 * @param props.value or its children
 * @param props.as how it is set
 */
export function Fact(props: {
  name: ComponentChildren;
  as?: "mono" | "number" | "tags";
  value?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const { name, as, value, children = value } = props;
  if (children === undefined || children === false) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd class={as}>{children}</dd>
    </>
  );
}
